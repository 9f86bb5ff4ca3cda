#include "arena/accum_adam.hpp"

#include "arena/adam_rule.hpp"
#include "arena/update.hpp"

namespace dbench::arena {
namespace {

template <class T>
struct AccumAdam {
    T* out;
    const T* base;
    const T* at;
    const T* gradient;
    T* first;
    T* second;
    T* accumulated;
    int64_t count;
    AdamRule<T> rule;
    T part;       // 1 / window
    bool closes;  // the window ends with this update
    Lanes* lanes;
};

template <class T, class Decays, class Closes>
DBENCH_INLINE void accum_adam_loop(const AccumAdam<T>& s, Decays decays, Closes closes) {
    const T* at = s.at;
    const T* gradient = s.gradient;
    T* first = s.first;
    T* second = s.second;
    T* accumulated = s.accumulated;
    const AdamRule<T> rule = s.rule;
    const T part = s.part;
    const auto step = [=](int64_t c) DBENCH_INLINE_LAMBDA {
        T g = gradient[c];
        if constexpr (decays.value) g += rule.coupled * at[c];
        const T old_first = first[c], old_second = second[c];
        const T mean = accumulated[c] + part * g;
        T d = rule.step(rule.first(old_first, g), rule.second(old_second, g));
        if constexpr (decays.value) d += rule.decoupled * at[c];
        if constexpr (closes.value) {
            first[c] = rule.first(old_first, mean);
            second[c] = rule.second(old_second, mean);
            accumulated[c] = 0;
        } else {
            accumulated[c] = mean;
        }
        return d;
    };
    subtract(s.out, s.base, s.count, s.lanes, step);
}

template <class T>
DBENCH_INLINE void accum_adam_body(const AccumAdam<T>& s) {
    with_flag(s.rule.decays(), [&](auto decays) DBENCH_INLINE_LAMBDA {
        with_flag(s.closes,
                  [&](auto closes) DBENCH_INLINE_LAMBDA { accum_adam_loop(s, decays, closes); });
    });
}

DBENCH_CLONES void accum_adam(const AccumAdam<float>& s) { accum_adam_body(s); }
DBENCH_CLONES void accum_adam(const AccumAdam<double>& s) { accum_adam_body(s); }

}  // namespace

void accum_adam_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient,
                       Rows first, Rows second, Rows accumulated, Columns columns,
                       const AccumAdamNumbers& numbers, double* squared_update) {
    const AdamNumbers& adam = numbers.adam;
    DBENCH_EXPECT(out.count == base.count && out.count == at.count && out.count == gradient.count);
    DBENCH_EXPECT(out.count == first.count && out.count == second.count);
    DBENCH_EXPECT(out.count == accumulated.count && adam.step >= 1 && numbers.window >= 1);
    DBENCH_EXPECT(adam.decay.size() == layout.tensors().size());
    const int64_t k = (adam.step + numbers.window - 1) / numbers.window;
    const bool closes = adam.step % numbers.window == 0;
    count_update(base, at, adam.decay, columns, 3, closes ? 3 : 1);
    with_type(out.type, [&]<class T>() {
        const AdamRule<T> rule(adam, k);
        const auto tile = [&](int64_t i, int64_t begin, int64_t count, int tensor, Lanes* lanes) {
            accum_adam(AccumAdam<T>{
                .out = out.row<T>(i) + begin,
                .base = base.row<T>(i) + begin,
                .at = at.row<T>(i) + begin,
                .gradient = gradient.row<T>(i) + begin,
                .first = first.row<T>(i) + begin,
                .second = second.row<T>(i) + begin,
                .accumulated = accumulated.row<T>(i) + begin,
                .count = count,
                .rule = rule.with_decay(adam, adam.decay[tensor]),
                .part = static_cast<T>(1.0 / static_cast<double>(numbers.window)),
                .closes = closes,
                .lanes = lanes,
            });
        };
        for_each_tile(layout, out.count, columns, squared_update, tile);
    });
}

}  // namespace dbench::arena
