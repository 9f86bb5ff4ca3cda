#pragma once
// The two passes of QG-Adam over rows in host memory; as kernels.hpp has them.

#include <span>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

struct QgAdamNumbers {
    double lr, beta1, beta2, eps;
    int64_t step;  ///< 1 for the first update (bias correction)
};

/// m = beta1 first + g and v = beta2 second + (1 - beta2) g^2, which are not kept;
/// out = base - lr/(1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps). `squared_update` as
/// sgd_update's.
void qg_adam_update(const Layout& layout, Rows out, Rows base, Rows gradient, Rows first,
                    Rows second, Columns columns, const QgAdamNumbers& numbers,
                    double* squared_update, Queue* queue = nullptr);

/// With d_i = factor[i] (before - after) in row i (factor [count], where the queue reads it):
/// first <- beta1 first + (1 - beta1) d;  second <- beta2 second + (1 - beta2) d^2.
void qg_adam_moments(const Layout& layout, Rows before, Rows after, const double* factor,
                     Rows first, Rows second, Columns columns, const QgAdamNumbers& numbers,
                     Queue* queue = nullptr);

}  // namespace dbench::arena
