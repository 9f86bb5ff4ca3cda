#pragma once
// The passes of algorithms that scale each element by its own history (DADAM, decentralized
// AMSGrad, AdaGossip) over rows in host memory; as kernels.hpp has them.

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

struct DadamNumbers {
    double lr, beta1, beta2, beta3, eps;
    int64_t step;  ///< 1 for the first update (bias correction)
};
/// first <- beta1 first + (1 - beta1) g;  second <- beta2 second + (1 - beta2) g^2;
/// with both corrected for their beginning at 0,
/// long_term <- beta3 long_term + (1 - beta3) max(long_term, second);
/// out = base - lr first / (sqrt(long_term) + eps). `squared_update` as sgd_update's.
void dadam_update(const Layout& layout, Rows out, Rows base, Rows gradient, Rows first, Rows second,
                  Rows long_term, Columns columns, const DadamNumbers& numbers,
                  double* squared_update, Queue* queue = nullptr);

/// first <- beta1 first + (1 - beta1) g;  second <- beta2 second + (1 - beta2) g^2;
/// largest <- max(largest, second - eps), and the gradient's place takes by how much it grew.
void largest_moments(const Layout& layout, Rows gradient, Rows first, Rows second, Rows largest,
                     Columns columns, double beta1, double beta2, double eps,
                     Queue* queue = nullptr);
/// out = base - lr direction / sqrt(max(size, 0) + eps).
void descend_by_size(const Layout& layout, Rows out, Rows base, Rows direction, Rows size,
                     Columns columns, double lr, double eps, double* squared_update,
                     Queue* queue = nullptr);

struct ApproachNumbers {
    double gamma, beta;
    int64_t step;  ///< 1 for the first (bias correction)
};
/// With r = to - from: squared <- beta squared + (1 - beta) r^2;
/// x += min(gamma / (sqrt(squared / (1 - beta^t)) + 1e-8), 1) r.
void approach_adaptively(const Layout& layout, Rows x, Rows from, Rows to, Rows squared,
                         Columns columns, const ApproachNumbers& numbers, Queue* queue = nullptr);

}  // namespace dbench::arena
