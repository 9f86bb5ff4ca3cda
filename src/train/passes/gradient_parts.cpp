#include "train/passes/gradient_parts.hpp"

#include <algorithm>
#include <utility>

#include "arena/passes/row_parts.hpp"

namespace dbench::train {
namespace {

/// Describes where `gradient` belongs. It is dense, in contiguous or channels-last order.
arena::RowPart part_of(const arena::Tensor& tensor, const torch::Tensor& gradient) {
    arena::RowPart part{gradient.const_data_ptr(), tensor.numel, tensor.offset, tensor.numel};
    if (!gradient.is_contiguous()) {
        part.lines = static_cast<int32_t>(gradient.size(1));
        part.columns = static_cast<int32_t>(gradient.size(2) * gradient.size(3));
    }
    return part;
}

}  // namespace

GradientParts::GradientParts(const arena::Layout& layout)
    : layout_(layout), taken_(layout.tensors().size()) {}

void GradientParts::take(size_t k, torch::Tensor gradient, bool adds) {
    const bool last = gradient.dim() == 4 && gradient.is_contiguous(at::MemoryFormat::ChannelsLast);
    taken_[k] = {last ? std::move(gradient) : gradient.contiguous(), adds};
}

void GradientParts::write(const arena::Rows& to, arena::Columns columns, arena::Queue& queue) {
    std::vector<arena::RowPart> replacing, adding;
    std::vector<torch::Tensor> used;  // they live until the kernels are launched
    for (size_t k = 0; k < taken_.size(); ++k) {
        const arena::Tensor& tensor = layout_.tensors()[k];
        const bool here = tensor.offset >= columns.begin && tensor.offset < columns.end;
        if (!here || !taken_[k].gradient.defined()) continue;
        used.push_back(std::exchange(taken_[k].gradient, {}));
        (taken_[k].adds ? adding : replacing).push_back(part_of(tensor, used.back()));
    }
    arena::fill_parts(to, replacing, false, queue);
    arena::fill_parts(to, adding, true, queue);
}

void GradientParts::zero(const arena::Rows& to, const std::vector<bool>& reached,
                         arena::Queue& queue) const {
    std::vector<arena::RowPart> parts;
    for (size_t k = 0; k < reached.size(); ++k) {
        const arena::Tensor& tensor = layout_.tensors()[k];
        if (!reached[k]) parts.push_back({nullptr, 0, tensor.offset, tensor.numel});
    }
    arena::fill_parts(to, parts, false, queue);
}

void GradientParts::drop() { std::fill(taken_.begin(), taken_.end(), Taken()); }

}  // namespace dbench::train
