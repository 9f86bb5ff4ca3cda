#pragma once
// AccumAdam and AccumAdamW ("From Promise to Practice", ICLR 2025, appendix C, in the form of its
// library Decent-DP): Adam whose moments change once per window, by the window's mean gradient.

#include "arena/kernels.hpp"

namespace dbench::arena {

struct AccumAdamNumbers {
    AdamNumbers adam;  ///< its step tells where in a window this update is
    int64_t window;    ///< s >= 1 updates
};

/// One fused pass: out = base - lr d(g, at). With M, V the rows `first` and `second`, A the rows
/// `accumulated`, update t = 1, 2, ... and k = ceil(t / s):
///
///     A += g / s;  m = b1 M + (1 - b1) g;  v = b2 V + (1 - b2) g^2
///     d = m / (1 - b1^k) / (sqrt(v / (1 - b2^k)) + eps)
///     where s divides t:  M = b1 M + (1 - b1) A;  V = b2 V + (1 - b2) A^2;  A = 0
///
/// Decay, rows that are the same and `squared_update` are as with adam_update. A window of 1 is
/// adam_update to the bit. Inside a window M and V are only read.
void accum_adam_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient,
                       Rows first, Rows second, Rows accumulated, Columns columns,
                       const AccumAdamNumbers& numbers, double* squared_update,
                       Queue* queue = nullptr);

}  // namespace dbench::arena
