#pragma once
// The kernels of algorithms that scale each element by its own history: DADAM, decentralized
// AMSGrad and AdaGossip. They run on a queue like those of kernels.hpp.

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// The parameters of DADAM's update.
struct DadamHyperparameters {
    double lr, beta1, beta2, beta3, eps;
    int64_t step;  ///< 1 for the first update (for the bias correction).
};
/// Computes DADAM's update:
/// first <- beta1 first + (1 - beta1) g;  second <- beta2 second + (1 - beta2) g^2;
/// long_term <- beta3 long_term + (1 - beta3) max(long_term, second');
/// out = base - lr first' / (sqrt(long_term) + eps),
/// where first' and second' are corrected for their start at 0. For `squared_update` see
/// sgd_update.
void dadam_update(const Layout& layout, Rows out, Rows base, Rows gradient, Rows first, Rows second,
                  Rows long_term, Columns columns, const DadamHyperparameters& numbers,
                  double* squared_update, Queue& queue = host_queue());

/// Updates the moments of decentralized AMSGrad:
/// first <- beta1 first + (1 - beta1) g;  second <- beta2 second + (1 - beta2) g^2;
/// largest <- max(largest, second - eps). Replaces the gradient by the increase of `largest`.
void largest_moments(const Layout& layout, Rows gradient, Rows first, Rows second, Rows largest,
                     Columns columns, double beta1, double beta2, double eps,
                     Queue& queue = host_queue());
/// Computes out = base - lr direction / sqrt(max(size, 0) + eps).
void descend_by_size(const Layout& layout, Rows out, Rows base, Rows direction, Rows size,
                     Columns columns, double lr, double eps, double* squared_update,
                     Queue& queue = host_queue());

/// The parameters of AdaGossip's step.
struct ApproachHyperparameters {
    double gamma, beta;
    int64_t step;  ///< 1 for the first step (for the bias correction).
};
/// Computes AdaGossip's step towards the neighbours. With r = to - from:
/// squared <- beta squared + (1 - beta) r^2;
/// x += min(gamma / (sqrt(squared / (1 - beta^t)) + 1e-8), 1) r.
void approach_adaptively(const Layout& layout, Rows x, Rows from, Rows to, Rows squared,
                         Columns columns, const ApproachHyperparameters& numbers,
                         Queue& queue = host_queue());

}  // namespace dbench::arena
