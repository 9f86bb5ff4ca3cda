#include "train/tensors_side_by_side.hpp"

#include "arena/row_parts.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

TensorsSideBySide::TensorsSideBySide(const arena::Layout& layout, const arena::Rows& like,
                                     const std::function<bool(const arena::Tensor&)>& wanted)
    : layout_(layout), replicas_(like.count) {
    int64_t end = 0;
    for (size_t k = 0; k < layout.tensors().size(); ++k) {
        const arena::Tensor& tensor = layout.tensors()[k];
        if (!wanted(tensor)) continue;
        at_[k] = end;
        const int64_t all = replicas_ * tensor.numel;
        end +=
            (all + arena::kColumnAlignment - 1) / arena::kColumnAlignment * arena::kColumnAlignment;
    }
    memory_ = arena::Buffer(like.type, 0, 1, end);
}

torch::Tensor TensorsSideBySide::tensor(size_t k, torch::Device place) const {
    const auto found = at_.find(k);
    if (found == at_.end()) return {};
    std::vector<int64_t> shape = layout_.tensors()[k].shape;
    shape.insert(shape.begin(), replicas_);
    const arena::Rows memory = memory_.rows();
    return torch::from_blob(memory.at(0, found->second), shape,
                            torch::TensorOptions(scalar_type(memory.type)).device(place));
}

void TensorsSideBySide::bring(const arena::Rows& from, arena::Queue* queue) const {
    std::vector<arena::RowPart> parts;
    for (const auto& [k, begin] : at_) {
        const arena::Tensor& tensor = layout_.tensors()[k];
        parts.push_back(
            {from.at(0, tensor.offset), from.stride, begin, tensor.numel, 0, 0, tensor.numel});
    }
    arena::Rows all = memory_.rows();
    all.count = replicas_;
    arena::fill_parts(all, parts, false, queue);
}

void TensorsSideBySide::take_back(const arena::Rows& to, arena::Queue* queue) const {
    std::vector<arena::RowPart> parts;
    for (const auto& [k, begin] : at_) {
        const arena::Tensor& tensor = layout_.tensors()[k];
        parts.push_back({memory_.rows().at(0, begin), tensor.numel, tensor.offset, tensor.numel});
    }
    arena::fill_parts(to, parts, false, queue);
}

}  // namespace dbench::train
