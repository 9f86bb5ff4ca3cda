#include "train/models/exported/symbols.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"

namespace dbench::train {
namespace {

using Arguments = std::vector<SymbolValue>;

bool is_real_number(const SymbolValue& value) { return std::holds_alternative<double>(value); }

bool both_whole(const Arguments& a) { return !is_real_number(a[0]) && !is_real_number(a[1]); }

int64_t whole(const SymbolValue& value) {
    const bool* flag = std::get_if<bool>(&value);
    return flag != nullptr ? static_cast<int64_t>(*flag) : std::get<int64_t>(value);
}

double real(const SymbolValue& value) {
    return is_real_number(value) ? std::get<double>(value) : static_cast<double>(whole(value));
}

[[noreturn]] void refuse_sizes(const char* reason) {
    throw base::UserError(std::string("the exported model computes with sizes: ") + reason);
}

int64_t checked(bool overflow, int64_t value) {
    if (overflow) refuse_sizes("a result is too large");
    return value;
}

SymbolValue plus(const Arguments& a) {
    if (!both_whole(a)) return real(a[0]) + real(a[1]);
    int64_t out = 0;
    const bool over = __builtin_add_overflow(whole(a[0]), whole(a[1]), &out);
    return checked(over, out);
}
SymbolValue minus(const Arguments& a) {
    if (!both_whole(a)) return real(a[0]) - real(a[1]);
    int64_t out = 0;
    const bool over = __builtin_sub_overflow(whole(a[0]), whole(a[1]), &out);
    return checked(over, out);
}
SymbolValue times(const Arguments& a) {
    if (!both_whole(a)) return real(a[0]) * real(a[1]);
    int64_t out = 0;
    const bool over = __builtin_mul_overflow(whole(a[0]), whole(a[1]), &out);
    return checked(over, out);
}
int64_t floor_quotient(const Arguments& a) {
    const int64_t n = whole(a[0]), d = whole(a[1]);
    if (d == 0) refuse_sizes("it divides by zero");
    if (d == -1) return checked(n == INT64_MIN, n == INT64_MIN ? 0 : -n);
    return n / d - (n % d != 0 && (n < 0) != (d < 0) ? 1 : 0);
}
SymbolValue floor_divide(const Arguments& a) {
    if (!both_whole(a)) return std::floor(real(a[0]) / real(a[1]));
    return floor_quotient(a);
}
SymbolValue modulo(const Arguments& a) {
    if (!both_whole(a)) return real(a[0]) - real(a[1]) * std::floor(real(a[0]) / real(a[1]));
    return whole(a[0]) - floor_quotient(a) * whole(a[1]);
}
SymbolValue power(const Arguments& a) {
    if (!both_whole(a) || whole(a[1]) < 0) return std::pow(real(a[0]), real(a[1]));
    int64_t out = 1;
    for (int64_t k = std::min<int64_t>(whole(a[1]), 64); k > 0; --k) {
        const bool over = __builtin_mul_overflow(out, whole(a[0]), &out);
        out = checked(over, out);
    }
    return out;
}
SymbolValue divide(const Arguments& a) {
    if (real(a[1]) == 0) refuse_sizes("it divides by zero");
    return real(a[0]) / real(a[1]);
}
SymbolValue negative(const Arguments& a) {
    if (is_real_number(a[0])) return -real(a[0]);
    return minus({SymbolValue(int64_t{0}), a[0]});
}
SymbolValue truncated(const Arguments& a) {
    const double value = real(a[0]);
    if (!(std::abs(value) < 9e18)) refuse_sizes("a result is too large");
    return static_cast<int64_t>(value);
}
SymbolValue shift_right(const Arguments& a) {
    if (!both_whole(a)) refuse_sizes("it shifts a number that is not whole");
    const int64_t by = whole(a[1]);
    if (by < 0) refuse_sizes("it shifts by a negative number");
    return whole(a[0]) >> std::min<int64_t>(by, 63);
}
SymbolValue shift_left(const Arguments& a) {
    if (!both_whole(a)) refuse_sizes("it shifts a number that is not whole");
    const int64_t by = whole(a[1]);
    if (by < 0) refuse_sizes("it shifts by a negative number");
    if (whole(a[0]) == 0) return int64_t{0};
    checked(by > 62, 0);
    return times({a[0], int64_t{1} << by});
}
bool truth(const SymbolValue& value) { return real(value) != 0; }
bool both_flags(const Arguments& a) {
    return std::holds_alternative<bool>(a[0]) && std::holds_alternative<bool>(a[1]);
}
int64_t bits(const SymbolValue& value) {
    if (is_real_number(value)) refuse_sizes("it combines the bits of a number that is not whole");
    return whole(value);
}

const std::map<std::string, SymbolOperator>& operators() {
    static const std::map<std::string, SymbolOperator> all = {
        {"_operator.add", {plus, 2}},
        {"_operator.sub", {minus, 2}},
        {"_operator.mul", {times, 2}},
        {"_operator.floordiv", {floor_divide, 2}},
        {"_operator.mod", {modulo, 2}},
        {"_operator.pow", {power, 2}},
        {"_operator.truediv", {divide, 2}},
        {"_operator.neg", {negative, 1}},
        {"_operator.pos", {[](const Arguments& a) { return a[0]; }, 1}},
        {"_operator.eq",
         {[](const Arguments& a) { return SymbolValue(real(a[0]) == real(a[1])); }, 2}},
        {"_operator.ne",
         {[](const Arguments& a) { return SymbolValue(real(a[0]) != real(a[1])); }, 2}},
        {"_operator.lt",
         {[](const Arguments& a) { return SymbolValue(real(a[0]) < real(a[1])); }, 2}},
        {"_operator.le",
         {[](const Arguments& a) { return SymbolValue(real(a[0]) <= real(a[1])); }, 2}},
        {"_operator.gt",
         {[](const Arguments& a) { return SymbolValue(real(a[0]) > real(a[1])); }, 2}},
        {"_operator.ge",
         {[](const Arguments& a) { return SymbolValue(real(a[0]) >= real(a[1])); }, 2}},
        {"_operator.lshift", {shift_left, 2}},
        {"_operator.rshift", {shift_right, 2}},
        {"_operator.and_",
         {[](const Arguments& a) {
              return both_flags(a) ? SymbolValue(truth(a[0]) && truth(a[1]))
                                   : SymbolValue(bits(a[0]) & bits(a[1]));
          },
          2}},
        {"_operator.or_",
         {[](const Arguments& a) {
              return both_flags(a) ? SymbolValue(truth(a[0]) || truth(a[1]))
                                   : SymbolValue(bits(a[0]) | bits(a[1]));
          },
          2}},
        {"torch.sym_not", {[](const Arguments& a) { return SymbolValue(!truth(a[0])); }, 1}},
        {"torch.sym_max",
         {[](const Arguments& a) { return real(a[0]) < real(a[1]) ? a[1] : a[0]; }, 2}},
        {"torch.sym_min",
         {[](const Arguments& a) { return real(a[1]) < real(a[0]) ? a[1] : a[0]; }, 2}},
        {"torch.sym_ite", {[](const Arguments& a) { return truth(a[0]) ? a[1] : a[2]; }, 3}},
        {"torch.sym_float", {[](const Arguments& a) { return SymbolValue(real(a[0])); }, 1}},
        {"torch.sym_int", {truncated, 1}},
        {"math.trunc", {truncated, 1}},
        {"math.floor", {[](const Arguments& a) { return truncated({std::floor(real(a[0]))}); }, 1}},
        {"math.ceil", {[](const Arguments& a) { return truncated({std::ceil(real(a[0]))}); }, 1}},
        {"torch._sym_sqrt",
         {[](const Arguments& a) { return SymbolValue(std::sqrt(real(a[0]))); }, 1}},
    };
    return all;
}

}  // namespace

SymbolOperator symbol_operator(const std::string& target) {
    const auto found = operators().find(target);
    return found == operators().end() ? SymbolOperator{} : found->second;
}

}  // namespace dbench::train
