#include "arena/layout.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dbench::arena {
namespace {

// Rows whose distance is a power of two share cache lines, and 16 of them evict each other: mixing
// took a third longer (measured). Therefore the stride of rows of at least kLong elements is kSkew
// plus a multiple of kPeriod. kSkew is nine cache lines for float32 and eighteen for float64;
// kPeriod is one page or two.
constexpr int64_t kLong = 16384, kPeriod = 1024, kSkew = 144;

}  // namespace

const char* to_string(TensorKind kind) {
    switch (kind) {
        case TensorKind::weight:
            return "weight";
        case TensorKind::bias:
            return "bias";
        case TensorKind::norm:
            return "norm";
    }
    return "unknown";
}

void Layout::add(std::string name, std::vector<int64_t> shape, TensorKind kind) {
    int64_t numel = 1;
    for (const int64_t extent : shape) {
        DBENCH_EXPECT(extent >= 0);
        numel *= extent;
    }
    const int64_t offset = end_, end = offset + numel;
    const int index = static_cast<int>(tensors_.size());
    std::vector<Segment> segments = this->segments();
    for (int64_t begin = offset; begin < end; begin += kBlock) {
        segments.push_back({begin, std::min(begin + kBlock, end), index});
    }
    segments_ = std::move(segments);
    tensors_.push_back({std::move(name), std::move(shape), kind, numel, offset});
    end_ = round_up(end, kColumnAlignment);
    numel_ += numel;
}

int64_t Layout::columns() const {
    return end_ < kLong ? end_ : round_up(end_ - kSkew, kPeriod) + kSkew;
}

std::vector<Columns> Layout::tiles(Columns columns, int64_t width) const {
    std::vector<Columns> tiles{columns};
    const auto [first, last] = segments_in(columns);
    for (int s = first; s < last; ++s) {
        if (segments_[s].begin - tiles.back().begin < width) continue;
        tiles.back().end = segments_[s].begin;
        tiles.push_back({segments_[s].begin, columns.end});
    }
    return tiles;
}

std::pair<int, int> Layout::segments_in(Columns columns) const {
    const auto starts_before = [](const Segment& segment, int64_t column) {
        return segment.begin < column;
    };
    const auto begin = segments().begin(), end = segments().end();
    const auto first = std::lower_bound(begin, end, columns.begin, starts_before);
    const auto last = std::lower_bound(first, end, columns.end, starts_before);
    // A range that ends inside a segment would assign the segment's sum to two ranges, or to none.
    DBENCH_EXPECT(first == begin || std::prev(first)->end <= columns.begin);
    DBENCH_EXPECT(last == first || std::prev(last)->end <= columns.end);
    return {static_cast<int>(first - begin), static_cast<int>(last - begin)};
}

int64_t Layout::numel_in(Columns columns) const {
    int64_t numel = 0;
    for (const Tensor& tensor : tensors_) {
        const int64_t begin = std::max(columns.begin, tensor.columns().begin);
        const int64_t end = std::min(columns.end, tensor.columns().end);
        numel += std::max<int64_t>(end - begin, 0);
    }
    return numel;
}

void Layout::sum_segments(const double* per_segment, double* per_tensor) const {
    std::fill(per_tensor, per_tensor + tensors_.size(), 0.0);
    for (size_t s = 0; s < segments_.size(); ++s) {
        per_tensor[segments_[s].tensor] += per_segment[s];
    }
}

}  // namespace dbench::arena
