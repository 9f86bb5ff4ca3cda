// Arithmetic with sizes in exported graphs: the results of Python, or an error.

#include "base/error.hpp"
#include "catch.hpp"
#include "train/models/exported/symbols.hpp"

namespace dbench::train {
namespace {

SymbolValue compute(const char* name, SymbolValue a, SymbolValue b) {
    return symbol_operator(name).function({a, b});
}

int64_t number(const SymbolValue& value) { return std::get<int64_t>(value); }

TEST_CASE("Exported graphs shift sizes as Python does") {
    const SymbolValue one = int64_t{1};
    CHECK(number(compute("_operator.rshift", int64_t{5}, one)) == 2);
    CHECK(number(compute("_operator.rshift", int64_t{-5}, one)) == -3);
    CHECK(number(compute("_operator.rshift", int64_t{-5}, int64_t{100})) == -1);
    CHECK(number(compute("_operator.lshift", int64_t{-5}, one)) == -10);
    CHECK(number(compute("_operator.lshift", one, int64_t{62})) == int64_t{1} << 62);
    CHECK(number(compute("_operator.lshift", int64_t{0}, int64_t{100})) == 0);
    CHECK_THROWS_AS(compute("_operator.lshift", one, int64_t{63}), base::UserError);
    CHECK_THROWS_AS(compute("_operator.lshift", int64_t{4}, int64_t{62}), base::UserError);
    CHECK_THROWS_AS(compute("_operator.rshift", one, int64_t{-1}), base::UserError);
    CHECK_THROWS_AS(compute("_operator.lshift", one, 0.5), base::UserError);
}

TEST_CASE("Exported graphs combine the bits of numbers, and truth values") {
    CHECK(number(compute("_operator.and_", int64_t{6}, int64_t{3})) == 2);
    CHECK(number(compute("_operator.or_", int64_t{6}, int64_t{1})) == 7);
    CHECK(std::get<bool>(compute("_operator.and_", true, true)));
    CHECK_FALSE(std::get<bool>(compute("_operator.or_", false, false)));
    CHECK_THROWS_AS(compute("_operator.and_", int64_t{1}, 0.5), base::UserError);
}

}  // namespace
}  // namespace dbench::train
