#pragma once
// An update and the averaging of the same step in one pass, if all averaged rows are on this rank.
// Each element of x, gradient and optimizer state is read once, and changed elements are written
// once. The result has the same bits as the separate kernels (sgd_update, adam_update;
// weighted_means, tree_mean and copies; squares).

#include <cstdint>
#include <type_traits>
#include <vector>

#include "arena/device/read_only_array.hpp"
#include "arena/kernels.hpp"

namespace dbench::arena {

/// One term of a row's average: a row and its weight.
struct LocalTerm {
    int64_t row;
    double weight;
};
/// A LocalTerm for kernels, in the type of the elements.
template <class Weight>
struct WeightedRow {
    int32_t row;
    Weight weight;
};
/// left <- left + share (right - left): combines the means of two nodes of the tree.
struct Blend {
    int64_t left, right;
    double share;
};

/// The mixing matrix W for rows that are all on this rank, as arrays that kernels can read.
class LocalMeans {
public:
    /// terms[i] describes row i of the result as for weighted_means, base first. All rows of a
    /// group, given by position, become the group's mean along the tree. They have no terms, and no
    /// other row has them as terms.
    LocalMeans(std::vector<std::vector<LocalTerm>> terms,
               const std::vector<std::vector<int64_t>>& groups);

    int64_t rows() const { return static_cast<int64_t>(first.size()) - 1; }

    /// The terms of all rows; the weight of a row's first term is the sum of its weights.
    template <class Weight>
    const ReadOnlyArray<WeightedRow<Weight>>& terms() const {
        if constexpr (std::is_same_v<Weight, float>) {
            return singles_;
        } else {
            return doubles_;
        }
    }

    ReadOnlyArray<Blend> blends;   ///< Steps that compute the means of the groups before the terms;
                                   ///< each mean is left in one row.
    ReadOnlyArray<int64_t> first;  ///< Index of row i's first term; one more entry at the end.

private:
    ReadOnlyArray<WeightedRow<float>> singles_;
    ReadOnlyArray<WeightedRow<double>> doubles_;
};

/// adapt_then_combine: out = W (x - lr d). combine_while_adapt: out = W x - lr d. d is the
/// optimizer's direction at x.
enum class MixOrder : uint8_t { adapt_then_combine, combine_while_adapt };

/// The averaging part of an update-and-mix kernel.
struct Mixing {
    const LocalMeans& means;
    MixOrder order;
    /// If not null, receives the sums of squares of the averaged rows, per row and segment [R * S].
    double* squared_before = nullptr;
};

/// Returns the number of columns that a block holds in scratch memory at a time; 0 if there are too
/// many rows for one pass. `measured`: the pass computes sums of squares, so a block processes
/// whole segments.
int64_t mixing_width(DType type, int64_t rows, MixOrder order, bool measured);

/// Performs sgd_update at x, and the mixing. `out` may be x only if the update comes first. If sums
/// of squares are requested, the columns must be whole segments. The padding between tensors is not
/// accessed.
void sgd_update_and_mix(const Layout& layout, Rows out, Rows x, Rows gradient, Rows velocity,
                        Columns columns, const SgdHyperparameters& numbers, double* squared_update,
                        const Mixing& mixing, Queue& queue = host_queue());
/// Performs adam_update at x, and the mixing; see sgd_update_and_mix.
void adam_update_and_mix(const Layout& layout, Rows out, Rows x, Rows gradient, Rows first,
                         Rows second, Rows largest, Columns columns,
                         const AdamHyperparameters& numbers, double* squared_update,
                         const Mixing& mixing, Queue& queue = host_queue());

}  // namespace dbench::arena
