#pragma once
// Read-only arrays for kernels, for example plans. The host reads the original; a device reads a
// copy that is made once.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "arena/device/queue.hpp"

namespace dbench::arena {

/// Returns the address at which launches on `queue` can read `values`. On the host's queue this is
/// values.data(). The values must not be modified while `owner` lives.
template <class Owner, class T>
const T* readable_on(Queue& queue, const std::shared_ptr<Owner>& owner,
                     const std::vector<T>& values) {
    if (queue.immediate() || values.empty()) return values.data();
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
    return static_cast<const T*>(queue.device_copy(owner, values.data(), bytes));
}

/// A read-only array that shares its values: copies of this object share them, and so their copy on
/// a device.
template <class T>
class ReadOnlyArray {
public:
    ReadOnlyArray() : ReadOnlyArray(std::vector<T>()) {}
    ReadOnlyArray(std::vector<T> values)
        : values_(std::make_shared<const std::vector<T>>(std::move(values))) {}

    const std::vector<T>& values() const { return *values_; }
    size_t size() const { return values_->size(); }
    const T& operator[](size_t k) const { return (*values_)[k]; }
    /// Returns the address at which launches on `queue` can read the values.
    const T* on(Queue& queue) const { return readable_on(queue, values_, *values_); }

private:
    std::shared_ptr<const std::vector<T>> values_;
};

/// Several read-only lists, stored one after another.
template <class T>
struct ReadOnlyLists {
    ReadOnlyArray<T> all;
    ReadOnlyArray<int64_t> first;  ///< Start of each list in `all`, and the end of the last one.

    explicit ReadOnlyLists(std::span<const std::vector<T>> lists) {
        std::vector<T> values;
        std::vector<int64_t> starts{0};
        for (const auto& list : lists) {
            values.insert(values.end(), list.begin(), list.end());
            starts.push_back(std::ssize(values));
        }
        all = ReadOnlyArray(std::move(values));
        first = ReadOnlyArray(std::move(starts));
    }
};

}  // namespace dbench::arena
