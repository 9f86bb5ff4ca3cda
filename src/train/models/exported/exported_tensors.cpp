#include "train/models/exported/exported_tensors.hpp"

#include <algorithm>

namespace dbench::train {
namespace {

torch::ScalarType torch_type(ElementType type) {
    switch (type) {
        case ElementType::uint8:
            return torch::kUInt8;
        case ElementType::int8:
            return torch::kInt8;
        case ElementType::int16:
            return torch::kInt16;
        case ElementType::int32:
            return torch::kInt32;
        case ElementType::int64:
            return torch::kInt64;
        case ElementType::float16:
            return torch::kFloat16;
        case ElementType::float32:
            return torch::kFloat32;
        case ElementType::float64:
            return torch::kFloat64;
        case ElementType::complex32:
            return torch::kComplexHalf;
        case ElementType::complex64:
            return torch::kComplexFloat;
        case ElementType::complex128:
            return torch::kComplexDouble;
        case ElementType::boolean:
            return torch::kBool;
        case ElementType::bfloat16:
            return torch::kBFloat16;
    }
    return torch::kFloat32;
}

}  // namespace

torch::Tensor view_of(const ExportedTensor& tensor) {
    const torch::ScalarType type = torch_type(tensor.type);
    const bool empty = std::ranges::find(tensor.sizes, 0) != tensor.sizes.end();
    if (empty) return torch::empty(tensor.sizes, type);
    const auto width = static_cast<int64_t>(c10::elementSize(type));
    // LibTorch only reads the bytes, but from_blob takes a non-const pointer.
    char* const bytes = const_cast<char*>(tensor.bytes->data());
    return torch::from_blob(bytes + tensor.offset * width, tensor.sizes, tensor.strides, type);
}

size_t ConstantTensors::add(const ExportedTensor& tensor) {
    const auto found = std::ranges::find(sources_, tensor);
    if (found != sources_.end()) return static_cast<size_t>(found - sources_.begin());
    sources_.push_back(tensor);
    constants_.push_back(view_of(tensor).clone());
    return constants_.size() - 1;
}

const std::vector<torch::Tensor>& ConstantTensors::on(torch::ScalarType type,
                                                      torch::Device place) const {
    std::vector<torch::Tensor>& all = prepared_[{type, place.str()}];
    for (size_t k = all.size(); k < constants_.size(); ++k) {
        const torch::Tensor& each = constants_[k];
        torch::ScalarType own = each.scalar_type();
        if (own == torch::kFloat32) own = type;
        if (own == torch::kComplexFloat) own = c10::toComplexType(type);
        all.push_back(each.to(place, own));
    }
    return all;
}

}  // namespace dbench::train
