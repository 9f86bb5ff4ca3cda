#pragma once
// The two kernels of QG-Adam. They run on a queue like those of kernels.hpp.

#include <span>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// The parameters of QG-Adam.
struct QgAdamHyperparameters {
    double lr, beta1, beta2, eps;
    int64_t step;  ///< 1 for the first update (for the bias correction).
};

/// Computes out = base - lr/(1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps) with m = beta1
/// first + g and v = beta2 second + (1 - beta2) g^2, which are not stored. For `squared_update` see
/// sgd_update.
void qg_adam_update(const Layout& layout, Rows out, Rows base, Rows gradient, Rows first,
                    Rows second, Columns columns, const QgAdamHyperparameters& numbers,
                    double* squared_update, Queue& queue = host_queue());

/// Updates the moments by the averaged change d_i = factor[i] (before - after) in row i:
/// first <- beta1 first + (1 - beta1) d;  second <- beta2 second + (1 - beta2) d^2.
/// `factor` [count] must be readable by the queue.
void qg_adam_moments(const Layout& layout, Rows before, Rows after, const double* factor,
                     Rows first, Rows second, Columns columns, const QgAdamHyperparameters& numbers,
                     Queue& queue = host_queue());

}  // namespace dbench::arena
