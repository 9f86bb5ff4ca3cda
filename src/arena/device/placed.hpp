#pragma once
// Arrays that kernels read and nobody writes any more, such as plans: on the host where they are,
// on a device in a copy that is made once.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "arena/device/queue.hpp"

namespace dbench::arena {

/// Where what is launched on `queue` reads `values`, which stay as they are while `owner` lives:
/// there, if there is no queue.
template <class Owner, class T>
const T* placed(Queue* queue, const std::shared_ptr<Owner>& owner, const std::vector<T>& values) {
    if (!queue || values.empty()) return values.data();
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
    return static_cast<const T*>(queue->place(owner, values.data(), bytes));
}

/// Values with their owner: copies share them, and so their place on a device.
template <class T>
class Placed {
public:
    Placed() : Placed(std::vector<T>()) {}
    Placed(std::vector<T> values)
        : values_(std::make_shared<const std::vector<T>>(std::move(values))) {}

    const std::vector<T>& values() const { return *values_; }
    size_t size() const { return values_->size(); }
    const T& operator[](size_t k) const { return (*values_)[k]; }
    const T* on(Queue* queue) const { return placed(queue, values_, *values_); }

private:
    std::shared_ptr<const std::vector<T>> values_;
};

/// Lists, one after another.
template <class T>
struct PlacedLists {
    Placed<T> all;
    Placed<int64_t> first;  ///< of each list in `all`, and the end

    explicit PlacedLists(std::span<const std::vector<T>> lists) {
        std::vector<T> values;
        std::vector<int64_t> starts{0};
        for (const auto& list : lists) {
            values.insert(values.end(), list.begin(), list.end());
            starts.push_back(std::ssize(values));
        }
        all = Placed(std::move(values));
        first = Placed(std::move(starts));
    }
};

}  // namespace dbench::arena
