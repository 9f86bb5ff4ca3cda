#include "train/passes/stacked_tensors.hpp"

#include <utility>

#include "arena/passes/row_parts.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

StackedTensors::StackedTensors(const arena::Layout& layout, const arena::Place& place,
                               const arena::Rows& like,
                               const std::function<bool(const arena::Tensor&)>& wanted)
    : layout_(layout), replicas_(like.count) {
    for (size_t k = 0; k < layout.tensors().size(); ++k) {
        const arena::Tensor& tensor = layout.tensors()[k];
        if (!wanted(tensor)) continue;
        std::vector<int64_t> shape = tensor.shape;
        shape.insert(shape.begin(), replicas_);
        own_.add(tensor.name, std::move(shape), tensor.kind);
        at_[k] = own_.tensors().size() - 1;
    }
    memory_ = place.rows(like.type, 0, 1, own_.columns());
}

torch::Tensor StackedTensors::tensor(size_t k, torch::Device torch_device) const {
    const auto found = at_.find(k);
    if (found == at_.end()) return {};
    const arena::Tensor& own = own_.tensors()[found->second];
    const arena::Rows memory = memory_.rows();
    return torch::from_blob(memory.at(0, own.offset), own.shape,
                            torch::TensorOptions(scalar_type(memory.type)).device(torch_device));
}

void StackedTensors::gather(const arena::Rows& from, arena::Queue& queue) const {
    std::vector<arena::RowPart> parts;
    for (const auto& [k, own] : at_) {
        const arena::Tensor& tensor = layout_.tensors()[k];
        parts.push_back({from.at(0, tensor.offset), from.stride, own_.tensors()[own].offset,
                         tensor.numel, 0, 0, tensor.numel});
    }
    arena::Rows all = memory_.rows();
    all.count = replicas_;
    arena::fill_parts(all, parts, false, queue);
}

void StackedTensors::scatter(const arena::Rows& to, arena::Queue& queue) const {
    std::vector<arena::RowPart> parts;
    for (const auto& [k, own] : at_) {
        const arena::Tensor& tensor = layout_.tensors()[k];
        parts.push_back({memory_.rows().at(0, own_.tensors()[own].offset), tensor.numel,
                         tensor.offset, tensor.numel});
    }
    arena::fill_parts(to, parts, false, queue);
}

}  // namespace dbench::train
