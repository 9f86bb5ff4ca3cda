#include "train/batches/batch_memory.hpp"

#include <exception>
#include <utility>
#include <vector>

namespace dbench::train {

BatchMemory::~BatchMemory() {
    if (std::uncaught_exceptions() == 0) return;
    static auto* const left = new std::vector<torch::Tensor>;
    left->push_back(std::move(memory_));
}

void* BatchMemory::bytes(int64_t count) {
    if (!memory_.defined() || memory_.numel() != count) memory_ = torch::empty({count}, options_);
    return memory_.mutable_data_ptr();
}

}  // namespace dbench::train
