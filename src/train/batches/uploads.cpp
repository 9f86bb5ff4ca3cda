#include "train/batches/uploads.hpp"

#include <utility>

#include "data/dataset.hpp"

namespace dbench::train {

std::unique_ptr<Uploads> Uploads::make(Device& device, torch::Device place) {
    arena::Queue* const queue = device.upload_queue();
    if (!queue) return nullptr;
    return std::unique_ptr<Uploads>(new Uploads(device, place, *queue));
}

std::shared_ptr<const data::Batch> Uploads::upload(std::shared_ptr<const data::Batch> batch,
                                                   arena::Queue& queue) {
    const int64_t element = batch->tokens ? 8 : arena::size_of(batch->type);
    if (batch->on_device || data::numel(batch->shape) * element < kMinBytes) return batch;
    Place& place = places_[next_];
    next_ = (next_ + 1) % places_.size();
    if (place.used) queue_.wait(*place.used, "the pass over an earlier minibatch");
    if (!place.batch || !place.batch->fits(*batch)) {
        arena::keep(queue_, std::move(place.batch));
        place.batch = FixedBatch::make_on(queue_, device_, *batch, place_);
    }
    device_.submit(
        "upload", [&] { return place.batch->filled_from(*batch); },
        [fixed = place.batch, batch] { fixed->fill(*batch); }, queue_);
    arena::keep(queue_, std::move(batch));
    arena::order(queue_, queue, "a minibatch that is uploaded");
    last_ = &place;
    return {place.batch, &place.batch->batch()};
}

void Uploads::used(arena::Queue& queue) {
    if (last_) std::exchange(last_, nullptr)->used = queue.record();
}

}  // namespace dbench::train
