#include "arena/layout.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dbench::arena {

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
    const int64_t offset = columns_, end = offset + numel;
    const int index = static_cast<int>(tensors_.size());
    for (int64_t begin = offset; begin < end; begin += kBlock) {
        segments_.push_back({begin, std::min(begin + kBlock, end), index});
    }
    tensors_.push_back({std::move(name), std::move(shape), kind, numel, offset});
    columns_ = (end + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
    numel_ += numel;
}

std::pair<int, int> Layout::segments_in(Columns columns) const {
    const auto starts_before = [](const Segment& segment, int64_t column) {
        return segment.begin < column;
    };
    const auto first =
        std::lower_bound(segments_.begin(), segments_.end(), columns.begin, starts_before);
    const auto last = std::lower_bound(first, segments_.end(), columns.end, starts_before);
    // An end inside a segment would give its sum to two ranges, or to none.
    DBENCH_EXPECT(first == segments_.begin() || std::prev(first)->end <= columns.begin);
    DBENCH_EXPECT(last == first || std::prev(last)->end <= columns.end);
    return {static_cast<int>(first - segments_.begin()),
            static_cast<int>(last - segments_.begin())};
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
