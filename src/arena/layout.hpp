#pragma once
// The layout: which columns of a row each tensor of a replica occupies.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "arena/device/read_only_array.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

enum class TensorKind : uint8_t { weight, bias, norm };  ///< `norm` is BatchNorm's scale and shift.
const char* to_string(TensorKind kind);

/// One parameter tensor and the columns that it occupies.
struct Tensor {
    std::string name;
    std::vector<int64_t> shape;  ///< Logical order, whatever the memory order.
    TensorKind kind;
    int64_t numel;
    int64_t offset;  ///< First column, a multiple of kColumnAlignment.
    Columns columns() const { return {offset, offset + numel}; }
};

/// The largest number of columns that are summed as one block (docs/numerics.md, rule 1).
inline constexpr int64_t kBlock = 4096;

/// A fixed block of columns inside one tensor. Every sum over elements is made of sums over whole
/// segments, so that it does not depend on how columns are cut into buckets or distributed over
/// ranks.
struct Segment {
    int64_t begin, end;
    int tensor;
};

/// The table of tensors and segments. Tensors are in the order of named_parameters(). The padding
/// columns between them stay zero.
class Layout {
public:
    /// Appends a tensor at the next aligned column.
    void add(std::string name, std::vector<int64_t> shape, TensorKind kind);

    const std::vector<Tensor>& tensors() const { return tensors_; }
    const std::vector<Segment>& segments() const { return segments_.values(); }
    /// The segments as an array that kernels on a device can read.
    const ReadOnlyArray<Segment>& segment_array() const { return segments_; }
    /// P with padding: the stride of a row. Long rows are padded so that the same columns of
    /// neighbouring rows fall on different lines of the first-level cache.
    int64_t columns() const;
    int64_t numel() const { return numel_; }  ///< Number of parameters, without padding.
    Columns all() const { return {0, columns()}; }

    /// Cuts `columns` into pieces of at least `width` columns (default: 4 MiB of float32); the last
    /// one may be smaller. The cuts do not change sums over elements. While one piece is exchanged,
    /// the pieces before it can be used in computations.
    std::vector<Columns> tiles(Columns columns, int64_t width = int64_t{1} << 20) const;

    /// Returns the segments [first, last) in `columns`. Both ends of `columns` must be the start of
    /// a tensor, an end of the row, or a multiple of kBlock inside a tensor.
    std::pair<int, int> segments_in(Columns columns) const;
    /// Number of parameters in `columns`, without padding.
    int64_t numel_in(Columns columns) const;
    /// Sums per-segment values [S] into per-tensor values [T], in order.
    void sum_segments(const double* per_segment, double* per_tensor) const;

private:
    std::vector<Tensor> tensors_;
    ReadOnlyArray<Segment> segments_;
    int64_t end_ = 0;  // End of the last tensor, with its padding.
    int64_t numel_ = 0;
};

}  // namespace dbench::arena
