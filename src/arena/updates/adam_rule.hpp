#pragma once
// What Adam and AccumAdam do with one element, or with each of some (pack.hpp). Both use it, so
// that a window of 1 is Adam to the bit.

#include <cmath>

#include "arena/kernels.hpp"
#include "arena/loops.hpp"

namespace dbench::arena {

template <class T>
struct AdamRule {
    T step_size;        // lr / (1 - beta1^k); lr without bias correction
    T root_correction;  // sqrt(1 - beta2^k); 1 without
    T eps;
    T toward;        // 1 - beta1
    T beta2, rest2;  // rest2 = 1 - beta2
    T coupled;       // decay into the gradient
    T decoupled;     // lr * decay, part of the step
    bool near;       // toward < 1/2
    bool apart;      // decay is decoupled
    double lr;

    /// `k`: how often the moments have changed with this step, for the bias correction.
    AdamRule(const AdamNumbers& numbers, int64_t k)
        : step_size(
              static_cast<T>(numbers.lr / (1 - std::pow(numbers.beta1, static_cast<double>(k))))),
          root_correction(
              static_cast<T>(std::sqrt(1 - std::pow(numbers.beta2, static_cast<double>(k))))),
          eps(static_cast<T>(numbers.eps)),
          toward(static_cast<T>(1 - numbers.beta1)),
          beta2(static_cast<T>(numbers.beta2)),
          rest2(static_cast<T>(1 - numbers.beta2)),
          coupled(0),
          decoupled(0),
          near(1 - numbers.beta1 < 0.5),
          apart(numbers.decoupled),
          lr(numbers.lr) {
        if (numbers.bias_correction) return;
        step_size = static_cast<T>(numbers.lr);
        root_correction = 1;
    }

    DBENCH_INLINE AdamRule with_decay(double decay) const {
        AdamRule out = *this;
        out.coupled = apart ? T{0} : static_cast<T>(decay);
        out.decoupled = apart ? static_cast<T>(lr * decay) : T{0};
        return out;
    }
    DBENCH_INLINE bool decays() const { return coupled != 0 || decoupled != 0; }

    /// The first moment after g. Interpolation starts from the nearer end, so that beta1 = 0 gives
    /// the gradient itself.
    template <class V>
    DBENCH_INLINE V first(V old, V g) const {
        const T share = near ? toward : toward - 1;
        return (near ? old : g) + share * (g - old);
    }
    template <class V>
    DBENCH_INLINE V second(V old, V g) const {
        return beta2 * old + rest2 * g * g;
    }
    /// lr d without decay.
    template <class V>
    DBENCH_INLINE V step(V m, V v) const {
        using std::sqrt;
        return step_size * m / (sqrt(v) / root_correction + eps);
    }
};

}  // namespace dbench::arena
