#include "train/batches/fixed_batch.hpp"

#include "base/error.hpp"
#include "data/dataset.hpp"
#include "train/device/device.hpp"

namespace dbench::train {
namespace {

constexpr int64_t kWord = sizeof(int64_t);

/// Allocates `bytes` bytes, or nothing if the batch has no such data. Zeros are a valid minibatch,
/// which a capture may run on before the first fill().
torch::Tensor allocate_zeros(const void* like, int64_t bytes, torch::Device torch_device) {
    if (!like) return {};
    return torch::zeros({bytes}, torch::TensorOptions(torch::kUInt8).device(torch_device));
}

template <class T>
T* start(const torch::Tensor& bytes) {
    return bytes.defined() ? static_cast<T*>(bytes.mutable_data_ptr()) : nullptr;
}

}  // namespace

FixedBatch::FixedBatch(const data::Batch& like, torch::Device torch_device)
    : torch_device_(torch_device), batch_(like) {
    const int64_t element = arena::size_of(like.type);
    const bool gathered = !like.windows.empty();
    inputs_ =
        allocate_zeros(gathered ? nullptr : like.inputs,
                       data::numel(like.shape) * (like.tokens ? kWord : element), torch_device);
    labels_ = allocate_zeros(like.labels, like.terms * kWord, torch_device);
    targets_ = allocate_zeros(like.targets, like.count * element, torch_device);
    if (!gathered) batch_.inputs = start<void>(inputs_);
    batch_.labels = start<const int64_t>(labels_);
    batch_.targets = start<const void>(targets_);
    batch_.windows.clear();
    batch_.on_device = batch_.labels_on_device = true;
}

std::shared_ptr<const FixedBatch> FixedBatch::make_on(arena::Queue& queue, Device& device,
                                                      const data::Batch& like,
                                                      torch::Device torch_device) {
    std::shared_ptr<const FixedBatch> made;
    const auto make = [&] { made = std::make_shared<const FixedBatch>(like, torch_device); };
    if (device.runs_later()) {
        make();
    } else {
        const auto nothing = [] { return std::vector<arena::Access>(); };
        device.submit("memory for minibatches", nothing, make, queue);
    }
    return made;
}

bool FixedBatch::fits(const data::Batch& batch) const {
    return batch.count == batch_.count && batch.shape == batch_.shape &&
           batch.order == batch_.order && batch.type == batch_.type &&
           batch.tokens == batch_.tokens && batch.terms == batch_.terms &&
           batch.row_terms == batch_.row_terms &&
           (inputs_.defined() || batch.inputs == batch_.inputs) &&
           !batch.labels == !batch_.labels && !batch.targets == !batch_.targets;
}

void FixedBatch::fill(const data::Batch& batch) const {
    DBENCH_EXPECT(fits(batch));
    const auto copy = [&](const void* data, torch::Tensor to, bool there) {
        if (!to.defined()) return;
        const auto from = torch::TensorOptions(torch::kUInt8)
                              .device(there ? torch_device_ : torch::Device(torch::kCPU));
        to.copy_(torch::from_blob(const_cast<void*>(data), to.sizes(), from),
                 /*non_blocking=*/true);
    };
    copy(batch.inputs, inputs_, batch.on_device);
    copy(batch.labels, labels_, batch.labels_on_device);
    copy(batch.targets, targets_, batch.labels_on_device);
}

std::vector<arena::Access> FixedBatch::reads() const {
    std::vector<arena::Access> all;
    for (const torch::Tensor& each : {inputs_, labels_, targets_}) {
        if (each.defined()) all.push_back(arena::reads(each.const_data_ptr(), each.numel()));
    }
    return all;
}

std::vector<arena::Access> FixedBatch::filled_from(const data::Batch& batch) const {
    std::vector<arena::Access> all = reads();
    for (arena::Access& each : all) each.writes = true;
    if (batch.on_device && inputs_.defined()) {
        all.push_back(arena::reads(batch.inputs, inputs_.numel()));
    }
    return all;
}

}  // namespace dbench::train
