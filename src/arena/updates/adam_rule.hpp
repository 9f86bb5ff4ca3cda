#pragma once  // Private to arena/updates.
// The rule of Adam and AccumAdam for one element or for each element of a pack (pack.hpp). Both
// kernels use it, so that AccumAdam with a window of 1 gives the same bits as Adam.

#include <cmath>

#include "arena/kernels.hpp"
#include "arena/loops.hpp"

namespace dbench::arena {

template <class T>
struct AdamRule {
    T step_size;        // lr / (1 - beta1^k); lr without bias correction.
    T root_correction;  // sqrt(1 - beta2^k); 1 without bias correction.
    T eps;
    T one_minus_beta1;
    T beta2, one_minus_beta2;
    T coupled;                   // Decay that is added to the gradient.
    T decoupled;                 // lr * decay, which is added to the step.
    bool interpolates_from_old;  // True if 1 - beta1 < 1/2.
    bool decay_is_decoupled;     // True if decay is decoupled (AdamW).
    double lr;

    /// `k` is the number of changes of the moments, including this step, for the bias correction.
    AdamRule(const AdamHyperparameters& numbers, int64_t k)
        : step_size(
              static_cast<T>(numbers.lr / (1 - std::pow(numbers.beta1, static_cast<double>(k))))),
          root_correction(
              static_cast<T>(std::sqrt(1 - std::pow(numbers.beta2, static_cast<double>(k))))),
          eps(static_cast<T>(numbers.eps)),
          one_minus_beta1(static_cast<T>(1 - numbers.beta1)),
          beta2(static_cast<T>(numbers.beta2)),
          one_minus_beta2(static_cast<T>(1 - numbers.beta2)),
          coupled(0),
          decoupled(0),
          interpolates_from_old(1 - numbers.beta1 < 0.5),
          decay_is_decoupled(numbers.decoupled),
          lr(numbers.lr) {
        if (numbers.bias_correction) return;
        step_size = static_cast<T>(numbers.lr);
        root_correction = 1;
    }

    /// Returns this rule for a tensor with decay `decay`.
    DBENCH_INLINE AdamRule with_decay(double decay) const {
        AdamRule out = *this;
        out.coupled = decay_is_decoupled ? T{0} : static_cast<T>(decay);
        out.decoupled = decay_is_decoupled ? static_cast<T>(lr * decay) : T{0};
        return out;
    }
    DBENCH_INLINE bool decays() const { return coupled != 0 || decoupled != 0; }

    /// Returns the first moment after gradient g. The interpolation starts from the nearer end, so
    /// that beta1 = 0 gives the gradient itself.
    template <class V>
    DBENCH_INLINE V first(V old, V g) const {
        const T share = interpolates_from_old ? one_minus_beta1 : one_minus_beta1 - 1;
        return (interpolates_from_old ? old : g) + share * (g - old);
    }
    /// Returns the second moment after gradient g.
    template <class V>
    DBENCH_INLINE V second(V old, V g) const {
        return beta2 * old + one_minus_beta2 * g * g;
    }
    /// Returns lr d without decay.
    template <class V>
    DBENCH_INLINE V step(V m, V v) const {
        using std::sqrt;
        return step_size * m / (sqrt(v) / root_correction + eps);
    }
};

}  // namespace dbench::arena
