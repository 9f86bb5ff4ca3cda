#pragma once
// Where each tensor of a replica lies in its row.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "arena/device/placed.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

enum class TensorKind : uint8_t { weight, bias, norm };  ///< norm: BatchNorm's scale and shift
const char* to_string(TensorKind kind);

struct Tensor {
    std::string name;
    std::vector<int64_t> shape;  ///< logical order
    TensorKind kind;
    int64_t numel;
    int64_t offset;  ///< first column, a multiple of kColumnAlignment
    Columns columns() const { return {offset, offset + numel}; }
};

/// At most this many columns are summed as one block (docs/numerics.md, rule 1).
inline constexpr int64_t kBlock = 4096;

/// A fixed block of columns inside one tensor: the unit of every sum over elements, so that a sum
/// does not depend on how columns are cut into buckets or dealt over ranks.
struct Segment {
    int64_t begin, end;
    int tensor;
};

/// Tensors in the order of named_parameters(). Padding between them stays zero.
class Layout {
public:
    void add(std::string name, std::vector<int64_t> shape, TensorKind kind);

    const std::vector<Tensor>& tensors() const { return tensors_; }
    const std::vector<Segment>& segments() const { return segments_.values(); }
    const Placed<Segment>& placed_segments() const { return segments_; }
    /// P with padding: the stride of a row. Long rows are padded to a distance at which tiles of
    /// neighbouring rows fall on different lines of the first cache.
    int64_t columns() const;
    int64_t numel() const { return numel_; }  ///< true parameters
    Columns all() const { return {0, columns()}; }

    /// `columns` in pieces of at least `width` (4 MiB of float32), whose ends are such that sums
    /// over elements do not depend on them: an exchange moves while the pieces before it are
    /// computed with.
    std::vector<Columns> tiles(Columns columns, int64_t width = int64_t{1} << 20) const;

    /// Segments [first, last) that lie in `columns`; its ends are tensor starts or the row's ends,
    /// or multiples of kBlock inside a tensor.
    std::pair<int, int> segments_in(Columns columns) const;
    /// True parameters in `columns`.
    int64_t numel_in(Columns columns) const;
    /// Sums per-segment values [S] into per-tensor values [T], in order.
    void sum_segments(const double* per_segment, double* per_tensor) const;

private:
    std::vector<Tensor> tensors_;
    Placed<Segment> segments_;
    int64_t end_ = 0;  // of the last tensor, with its padding
    int64_t numel_ = 0;
};

}  // namespace dbench::arena
