#pragma once
// The main kernels over rows: weighted sums, zero, copy, scale, sums of squares, SGD and Adam
// updates. All kernels work on a range of columns and are launched on a queue. On the host's queue,
// the default, they run before the call returns. No call allocates memory per row; a call uses at
// most a small tile of scratch memory.

#include <span>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// One term of a weighted sum: a row (address of its column 0) and its weight.
struct Term {
    const void* row;
    double weight;
};

/// Computes out_i = sum over terms[i], in their order, for every row i of `out`, in `columns`. Rows
/// of `out` may be among the sources. The pass is tiled over columns and prefetches the next tile:
/// each source row is read once from memory and each row of `out` is written once, whatever the
/// number of terms.
void weighted_sums(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                   Queue& queue = host_queue());

/// Computes weighted means: out_i = s b + sum_j w_j (x_j - b), where b is the row of the first term
/// (at least one term) and s is the sum of the weights w, or 1 if the sum is within 1e-9 of 1. So
/// equal rows are reproduced bit for bit, although weights in float32 do not sum to exactly one.
void weighted_means(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                    Queue& queue = host_queue());

/// Computes only the difference part of weighted_means, sum_j w_j (x_j - b). Its rounding error is
/// relative to the difference, not to b.
void weighted_changes(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                      Queue& queue = host_queue());

/// Sets `columns` of all rows to zero. Only tests and benchmarks need it: new rows are zero.
void fill_zero(Rows rows, Columns columns, Queue& queue = host_queue());
/// Copies `columns`. Both must have the same row count, element type and stride.
void copy(Rows from, Rows to, Columns columns, Queue& queue = host_queue());
/// Multiplies `columns` of all rows by `factor`.
void scale(Rows rows, Columns columns, double factor, Queue& queue = host_queue());

/// Computes the sum of squares per row and segment: out[i * S + s], S = layout.segments().size(),
/// only for the segments in `columns`. Accumulators are float64 and add in a fixed order.
void squares(const Layout& layout, Rows rows, Columns columns, double* out,
             Queue& queue = host_queue());

/// The parameters of SGD's update. `decay` is given per tensor; a coefficient per segment would
/// have to be read from memory. Tensors with decay 0 are not decayed.
struct SgdHyperparameters {
    double lr, momentum;
    bool nesterov;
    ReadOnlyArray<double> decay;  ///< Weight decay per tensor [T], coupled: g += decay * at.
};
/// The parameters of Adam's update.
struct AdamHyperparameters {
    double lr, beta1, beta2, eps;
    int64_t step;    ///< 1 for the first update (for the bias correction).
    bool decoupled;  ///< AdamW: decay subtracts lr * decay * at in the update instead of changing
                     ///< g.
    ReadOnlyArray<double> decay;  ///< Weight decay per tensor [T].
    bool bias_correction = true;  ///< Corrects both moments for their start at 0.
};

/// Computes out = base - lr d(g, at) in one fused pass, by PyTorch's rules for SGD. `velocity` has
/// no rows if momentum is 0. Any of `out`, `base` and `at` may be the same rows. If
/// `squared_update` is not null, it receives ||lr d||^2 per row and segment [count * S], in the
/// same order of additions as `squares`.
void sgd_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows velocity,
                Columns columns, const SgdHyperparameters& numbers, double* squared_update,
                Queue& queue = host_queue());
/// Performs sgd_update with the base W x: the base of row i is what weighted_means computes from
/// base[i]. The base is computed tile by tile in the CPU cache, so it is neither written to memory
/// nor read from it. `out` must not be among the rows that are read. Runs on the host only.
void sgd_update_of_means(const Layout& layout, Rows out, std::span<const std::vector<Term>> base,
                         Rows at, Rows gradient, Rows velocity, Columns columns,
                         const SgdHyperparameters& numbers, double* squared_update);
/// Computes out = base - lr d(g, at) in one fused pass, by PyTorch's rules for Adam and AdamW. If
/// `largest` has rows, it holds the largest second moment of each element so far, which replaces
/// the second moment in the update (AMSGrad). For the other parameters see sgd_update.
void adam_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows first,
                 Rows second, Rows largest, Columns columns, const AdamHyperparameters& numbers,
                 double* squared_update, Queue& queue = host_queue());
/// Performs adam_update with the base W x, see sgd_update_of_means. Runs on the host only.
void adam_update_of_means(const Layout& layout, Rows out, std::span<const std::vector<Term>> base,
                          Rows at, Rows gradient, Rows first, Rows second, Rows largest,
                          Columns columns, const AdamHyperparameters& numbers,
                          double* squared_update);

}  // namespace dbench::arena
