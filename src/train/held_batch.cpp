#include "train/held_batch.hpp"

#include <cstring>
#include <exception>

#include "data/dataset.hpp"

namespace dbench::train {

HeldBatch::HeldBatch(const data::Batch& batch, bool pinned) : batch_(batch) {
    const int64_t element = arena::size_of(batch.type), token = sizeof(int64_t);
    batch_.inputs =
        copy(batch.inputs, data::numel(batch.shape) * (batch.tokens ? token : element), pinned);
    batch_.labels = static_cast<const int64_t*>(copy(batch.labels, batch.terms * token, pinned));
    batch_.targets = copy(batch.targets, batch.count * element, pinned);
}

HeldBatch::~HeldBatch() {
    if (std::uncaught_exceptions() == 0) return;
    static auto* const left = new std::vector<torch::Tensor>;
    left->insert(left->end(), memory_.begin(), memory_.end());
}

void* HeldBatch::copy(const void* from, int64_t bytes, bool pinned) {
    if (!from) return nullptr;
    memory_.push_back(
        torch::empty({bytes}, torch::TensorOptions(torch::kUInt8).pinned_memory(pinned)));
    void* const to = memory_.back().mutable_data_ptr();
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return to;
}

}  // namespace dbench::train
