#pragma once
// AccumAdam and AccumAdamW ("From Promise to Practice", ICLR 2025, appendix C, in the form of its
// library Decent-DP): Adam whose moments change once per window, by the window's mean gradient.

#include "arena/kernels.hpp"

namespace dbench::arena {

/// The parameters of AccumAdam's update.
struct AccumAdamHyperparameters {
    /// `adam.step` determines the position of this update in its window.
    AdamHyperparameters adam;
    int64_t window;  ///< Window length s >= 1, in updates.
};

/// Computes out = base - lr d(g, at) in one fused pass. With M, V the rows `first` and `second`, A
/// the rows `accumulated`, update t = 1, 2, ... and k = ceil(t / s):
///
///     A += g / s;  m = b1 M + (1 - b1) g;  v = b2 V + (1 - b2) g^2
///     d = m / (1 - b1^k) / (sqrt(v / (1 - b2^k)) + eps)
///     if s divides t:  M = b1 M + (1 - b1) A;  V = b2 V + (1 - b2) A^2;  A = 0
///
/// Decay, identical rows and `squared_update` work as in adam_update. A window of 1 gives the same
/// bits as adam_update. M and V are written only at the end of a window.
void accum_adam_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient,
                       Rows first, Rows second, Rows accumulated, Columns columns,
                       const AccumAdamHyperparameters& numbers, double* squared_update,
                       Queue& queue = host_queue());

}  // namespace dbench::arena
