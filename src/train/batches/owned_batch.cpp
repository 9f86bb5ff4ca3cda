#include "train/batches/owned_batch.hpp"

#include <cstring>

#include "data/dataset.hpp"

namespace dbench::train {
namespace {

void* copy(BatchMemory& to, const void* from, int64_t bytes) {
    if (!from) return nullptr;
    return std::memcpy(to.bytes(bytes), from, static_cast<size_t>(bytes));
}

}  // namespace

OwnedBatch::OwnedBatch(const data::Batch& batch, bool pinned)
    : batch_(batch), inputs_(pinned), labels_(pinned), targets_(pinned) {
    const int64_t element = arena::size_of(batch.type), token = sizeof(int64_t);
    batch_.inputs =
        copy(inputs_, batch.inputs, data::numel(batch.shape) * (batch.tokens ? token : element));
    batch_.labels = static_cast<const int64_t*>(copy(labels_, batch.labels, batch.terms * token));
    batch_.targets = copy(targets_, batch.targets, batch.count * element);
}

}  // namespace dbench::train
