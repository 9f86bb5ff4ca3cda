#pragma once
// Passes over rows in host memory. All take a range of columns; none allocates per call beyond a
// small tile of scratch.

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

/// out_i = sum over terms[i], in their order, for every row i of `out`, in `columns`. Rows of `out`
/// may be among the sources. One pass tiled over columns, next tile prefetched: each source row is
/// read once from memory and each row of `out` written once, whatever the number of terms.
void weighted_sums(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                   Queue* queue = nullptr);

/// The same for weights w that sum to one, as out_i = b + sum_j w_j (x_j - b), where b is the row
/// of the first term (at least one): equal rows stay what they are to the bit, though weights in
/// float32 do not sum to one. Where they sum to s, b is taken s times.
void weighted_means(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                    Queue* queue = nullptr);

/// Their differences alone, sum_j w_j (x_j - b): rounded to their own size, not to that of b.
void weighted_changes(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                      Queue* queue = nullptr);

void fill_zero(Rows rows, Columns columns, Queue* queue = nullptr);
void copy(Rows from, Rows to, Columns columns,
          Queue* queue = nullptr);  ///< same count, type and stride
void scale(Rows rows, Columns columns, double factor, Queue* queue = nullptr);

/// Sum of squares per row and segment: out[i * S + s], S = layout.segments().size(), for the
/// segments in `columns` only. float64 accumulators in a fixed order.
void squares(const Layout& layout, Rows rows, Columns columns, double* out, Queue* queue = nullptr);

/// The first non-finite element's presence per row: true where a row holds one in `columns`.
void find_nonfinite(Rows rows, Columns columns, std::span<uint8_t> found);

/// How the update kernels below see decay: a coefficient per segment would be read from memory, so
/// it is given per tensor; tensors where `decay` is 0 are left alone.
struct SgdNumbers {
    double lr, momentum;
    bool nesterov;
    Placed<double> decay;  ///< per tensor [T], coupled: g += decay * at
};
struct AdamNumbers {
    double lr, beta1, beta2, eps;
    int64_t step;                 ///< 1 for the first update (bias correction)
    bool decoupled;               ///< AdamW: at is shrunk by lr * decay inside d
    Placed<double> decay;         ///< per tensor [T]
    bool bias_correction = true;  ///< of both moments, which begin at 0
};

/// One fused pass: out = base - lr d(g, at), PyTorch's rules. `velocity` has no rows when momentum
/// is 0. Any of out, base, at may be the same rows. `squared_update`, where not null, receives
/// ||lr d||^2 per row and segment [count * S] as `squares` would give it.
void sgd_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows velocity,
                Columns columns, const SgdNumbers& numbers, double* squared_update,
                Queue* queue = nullptr);
/// The same where the base is W x: of row i what weighted_means would make of base[i], tile by tile
/// in a cache, so that it is neither written nor read. `out` is none of the rows that are read. On
/// the host.
void sgd_update_of_means(const Layout& layout, Rows out, std::span<const std::vector<Term>> base,
                         Rows at, Rows gradient, Rows velocity, Columns columns,
                         const SgdNumbers& numbers, double* squared_update);
/// `largest`, where it has rows, holds the elements' largest second moments so far, which then
/// stand in the second moments' place (AMSGrad).
void adam_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows first,
                 Rows second, Rows largest, Columns columns, const AdamNumbers& numbers,
                 double* squared_update, Queue* queue = nullptr);
void adam_update_of_means(const Layout& layout, Rows out, std::span<const std::vector<Term>> base,
                          Rows at, Rows gradient, Rows first, Rows second, Rows largest,
                          Columns columns, const AdamNumbers& numbers, double* squared_update);

}  // namespace dbench::arena
