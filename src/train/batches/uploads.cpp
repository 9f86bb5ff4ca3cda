#include "train/batches/uploads.hpp"

#include <utility>

#include "data/dataset.hpp"

namespace dbench::train {

std::unique_ptr<Uploads> Uploads::make(Device& device, torch::Device torch_device) {
    arena::Queue* const queue = device.upload_queue();
    if (!queue) return nullptr;
    return std::unique_ptr<Uploads>(new Uploads(device, torch_device, *queue));
}

std::shared_ptr<const data::Batch> Uploads::upload(std::shared_ptr<const data::Batch> batch,
                                                   arena::Queue& queue) {
    const int64_t element = batch->tokens ? 8 : arena::size_of(batch->type);
    if (batch->on_device || data::numel(batch->shape) * element < kMinBytes) return batch;
    Buffer& buffer = buffers_[next_];
    next_ = (next_ + 1) % buffers_.size();
    if (buffer.used) queue_.wait(*buffer.used, "the pass over an earlier minibatch");
    if (!buffer.batch || !buffer.batch->fits(*batch)) {
        arena::keep(queue_, std::move(buffer.batch));
        buffer.batch = FixedBatch::make_on(queue_, device_, *batch, torch_device_);
    }
    device_.submit(
        "upload", [&] { return buffer.batch->filled_from(*batch); },
        [fixed = buffer.batch, batch] { fixed->fill(*batch); }, queue_);
    arena::keep(queue_, std::move(batch));
    arena::order(queue_, queue, "a minibatch that is uploaded");
    last_ = &buffer;
    return {buffer.batch, &buffer.batch->batch()};
}

void Uploads::used(arena::Queue& queue) {
    if (last_) std::exchange(last_, nullptr)->used = queue.record();
}

}  // namespace dbench::train
