#include "train/batches/uploads.hpp"

#include <utility>

#include "data/dataset.hpp"

namespace dbench::train {

std::unique_ptr<Uploads> Uploads::of(Device& device, torch::Device place) {
    arena::Queue* const queue = device.upload_queue();
    if (!queue) return nullptr;
    return std::unique_ptr<Uploads>(new Uploads(device, place, *queue));
}

std::shared_ptr<const data::Batch> Uploads::bring(std::shared_ptr<const data::Batch> held,
                                                  arena::Queue& queue) {
    const int64_t element = held->tokens ? 8 : arena::size_of(held->type);
    if (held->on_device || data::numel(held->shape) * element < kLeast) return held;
    Place& place = places_[next_];
    next_ = (next_ + 1) % places_.size();
    if (place.used) queue_.wait(*place.used, "a pass over the minibatch before");
    if (!place.batch || !place.batch->fits(*held)) {
        arena::keep(&queue_, std::move(place.batch));
        place.batch = FixedBatch::made_on(&queue_, device_, *held, place_);
    }
    device_.put(
        "upload", [&] { return place.batch->filled_from(*held); },
        [fixed = place.batch, held] { fixed->fill(*held); }, &queue_);
    arena::keep(&queue_, std::move(held));
    arena::order(&queue_, &queue, "a minibatch on its way");
    last_ = &place;
    return {place.batch, &place.batch->batch()};
}

void Uploads::used(arena::Queue& queue) {
    if (last_) std::exchange(last_, nullptr)->used = queue.record();
}

}  // namespace dbench::train
