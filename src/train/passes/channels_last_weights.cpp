#include "train/passes/channels_last_weights.hpp"

#include <limits>
#include <vector>

#include "arena/passes/row_parts.hpp"
#include "train/models/model.hpp"

namespace dbench::train {
namespace {

/// True if the tensor is (out, in, height, width) with several pixels and several input channels:
/// otherwise both memory orders are the same.
bool has_two_orders(const arena::Tensor& tensor) {
    return tensor.shape.size() == 4 && tensor.shape[1] > 1 &&
           tensor.shape[2] * tensor.shape[3] > 1 &&
           tensor.numel <= std::numeric_limits<int32_t>::max();
}

}  // namespace

ChannelsLastWeights::ChannelsLastWeights(const arena::Layout& layout, const arena::Place& place,
                                         arena::DType type, int64_t passes, bool wanted)
    : layout_(layout) {
    for (size_t k = 0; wanted && k < layout.tensors().size(); ++k) {
        const arena::Tensor& tensor = layout.tensors()[k];
        if (!has_two_orders(tensor)) continue;
        own_.add(tensor.name, tensor.shape, tensor.kind);
        at_[k] = own_.tensors().back().offset;
    }
    if (!empty()) memory_ = place.rows(type, 0, passes, own_.columns());
}

torch::Tensor ChannelsLastWeights::leaf(size_t k, int64_t pass, torch::Device torch_device) const {
    const auto found = at_.find(k);
    if (found == at_.end()) return {};
    const std::vector<int64_t>& shape = layout_.tensors()[k].shape;
    const int64_t in = shape[1], height = shape[2], width = shape[3];
    const arena::Rows rows = memory_.rows();
    return torch::from_blob(rows.at(pass, found->second), shape,
                            {height * width * in, 1, width * in, in},
                            torch::TensorOptions(scalar_type(rows.type)).device(torch_device));
}

void ChannelsLastWeights::reorder(const arena::Rows& x, int64_t i, int64_t pass,
                                  arena::Queue& queue) const {
    if (empty()) return;
    std::vector<arena::RowPart> parts;
    for (const auto& [k, begin] : at_) {
        const arena::Tensor& tensor = layout_.tensors()[k];
        const int64_t in = tensor.shape[1], pixels = tensor.shape[2] * tensor.shape[3];
        parts.push_back({x.at(i, tensor.offset), x.stride, begin, tensor.numel,
                         static_cast<int32_t>(pixels), static_cast<int32_t>(in)});
    }
    arena::fill_parts(memory(pass), parts, false, queue);
}

}  // namespace dbench::train
