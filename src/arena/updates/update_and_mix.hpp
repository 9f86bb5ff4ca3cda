#pragma once
// An update and the averaging beside it in one pass, where all rows that are averaged are here:
// each element of x, gradient and optimizer state is read once, and what changes is written once.
// The bits are those of the separate passes (sgd_update, adam_update; weighted_means, tree_mean and
// copies; squares).

#include <cstdint>
#include <type_traits>
#include <vector>

#include "arena/device/placed.hpp"
#include "arena/kernels.hpp"

namespace dbench::arena {

/// A summand of a row: a row and its weight.
struct LocalTerm {
    int64_t row;
    double weight;
};
/// The same as kernels read it, in the type of the elements.
template <class Weight>
struct WeighedRow {
    int32_t row;
    Weight weight;
};
/// left <- left + share (right - left), as the means of two nodes of the tree are combined.
struct Blend {
    int64_t left, right;
    double share;
};

/// W over rows that are all in one place, where kernels read it.
class LocalMeans {
public:
    /// terms[i]: row i of the result as weighted_means takes it, its base first. The rows of a
    /// group, by position, all become their mean along the tree; they have no terms, and no other
    /// row has them as terms.
    LocalMeans(std::vector<std::vector<LocalTerm>> terms,
               const std::vector<std::vector<int64_t>>& groups);

    int64_t rows() const { return static_cast<int64_t>(first.size()) - 1; }

    /// The terms of all rows; a row's first has the sum of its weights.
    template <class Weight>
    const Placed<WeighedRow<Weight>>& terms() const {
        if constexpr (std::is_same_v<Weight, float>) {
            return singles_;
        } else {
            return doubles_;
        }
    }

    Placed<Blend> blends;   ///< those of groups come first and leave each mean in one row
    Placed<int64_t> first;  ///< of row i's terms; one more at the end

private:
    Placed<WeighedRow<float>> singles_;
    Placed<WeighedRow<double>> doubles_;
};

/// out = W (x - lr d), or W x - lr d; d is the optimizer's direction at x.
enum class MixOrder : uint8_t { adapt_then_combine, combine_while_adapt };

struct Mixing {
    const LocalMeans& means;
    MixOrder order;
    /// Where not null, receives the squares of what is averaged, per row and segment [R * S].
    double* squared_before = nullptr;
};

/// Columns that a block has in its scratch at a time; 0 where even a few are too many: then the
/// pass cannot be made. `measured`: with sums of squares, for which a block takes whole segments.
int64_t mixing_width(DType type, int64_t rows, MixOrder order, bool measured);

/// sgd_update at x, and the mixing. `out` may be x where the update comes first. The columns are
/// whole segments where anything is measured; what lies between tensors is not touched.
void sgd_update_and_mix(const Layout& layout, Rows out, Rows x, Rows gradient, Rows velocity,
                        Columns columns, const SgdNumbers& numbers, double* squared_update,
                        const Mixing& mixing, Queue* queue = nullptr);
/// adam_update likewise.
void adam_update_and_mix(const Layout& layout, Rows out, Rows x, Rows gradient, Rows first,
                         Rows second, Rows largest, Columns columns, const AdamNumbers& numbers,
                         double* squared_update, const Mixing& mixing, Queue* queue = nullptr);

}  // namespace dbench::arena
