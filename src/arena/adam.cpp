// Adam and AdamW as torch.optim computes them (Kingma and Ba 2015; Loshchilov and Hutter 2019),
// with the largest second moments so far where that is asked for (AMSGrad: Reddi, Kale and Kumar
// 2018).

#include "arena/adam_rule.hpp"
#include "arena/update.hpp"

namespace dbench::arena {
namespace {

template <class T>
struct Adam {
    T* out;
    const T* base;
    const T* at;
    const T* gradient;
    T* first;
    T* second;
    T* largest;  // null: the second moments themselves
    int64_t count;
    AdamRule<T> rule;
    Lanes* lanes;
};

template <class T>
DBENCH_INLINE void adam_body(const Adam<T>& s) {
    const T* at = s.at;
    const T* gradient = s.gradient;
    T* first = s.first;
    T* second = s.second;
    T* largest = s.largest;
    const AdamRule<T> rule = s.rule;
    const auto body = [&](auto decays, auto remembers) DBENCH_INLINE_LAMBDA {
        const auto step = [=](int64_t c) DBENCH_INLINE_LAMBDA {
            T g = gradient[c];
            if constexpr (decays.value) g += rule.coupled * at[c];
            const T m = rule.first(first[c], g);
            T v = rule.second(second[c], g);
            first[c] = m;
            second[c] = v;
            if constexpr (remembers.value) {
                v = largest[c] > v ? largest[c] : v;
                largest[c] = v;
            }
            T d = rule.step(m, v);
            if constexpr (decays.value) d += rule.decoupled * at[c];
            return d;
        };
        subtract(s.out, s.base, s.count, s.lanes, step);
    };
    with_flag(largest != nullptr, [&](auto remembers) DBENCH_INLINE_LAMBDA {
        with_flag(rule.decays(),
                  [&](auto decays) DBENCH_INLINE_LAMBDA { body(decays, remembers); });
    });
}

DBENCH_CLONES void adam(const Adam<float>& s) { adam_body(s); }
DBENCH_CLONES void adam(const Adam<double>& s) { adam_body(s); }

}  // namespace

void adam_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows first,
                 Rows second, Rows largest, Columns columns, const AdamNumbers& numbers,
                 double* squared_update) {
    DBENCH_EXPECT(out.count == base.count && out.count == at.count && out.count == gradient.count);
    DBENCH_EXPECT(out.count == first.count && out.count == second.count && numbers.step >= 1);
    DBENCH_EXPECT(numbers.decay.size() == layout.tensors().size());
    const int64_t state = largest.count > 0 ? 3 : 2;
    count_update(base, at, numbers.decay, columns, state, state);
    with_type(out.type, [&]<class T>() {
        const AdamRule<T> rule(numbers, numbers.step);
        const auto tile = [&](int64_t i, int64_t begin, int64_t count, int tensor, Lanes* lanes) {
            adam(Adam<T>{
                .out = out.row<T>(i) + begin,
                .base = base.row<T>(i) + begin,
                .at = at.row<T>(i) + begin,
                .gradient = gradient.row<T>(i) + begin,
                .first = first.row<T>(i) + begin,
                .second = second.row<T>(i) + begin,
                .largest = largest.count > 0 ? largest.row<T>(i) + begin : nullptr,
                .count = count,
                .rule = rule.with_decay(numbers, numbers.decay[tensor]),
                .lanes = lanes,
            });
        };
        for_each_tile(layout, out.count, columns, squared_update, tile);
    });
}

}  // namespace dbench::arena
