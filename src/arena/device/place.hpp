#pragma once
// The place where a rank computes: the queues of its device, and through them the device's memory.
// The code that chooses the device makes one Place, comm::World holds it, and everything that
// allocates rows or launches kernels receives it.

#include <cstddef>
#include <cstdint>

#include "arena/device/memory.hpp"
#include "arena/device/queue.hpp"

namespace dbench::arena {

/// Refers to the queues of one device. Copies refer to the same queues, which must outlive them.
/// A new kind of device needs queues of its own and a Place of them, nothing else.
class Place {
public:
    /// The host: kernels run at once, in the host's own memory.
    Place() : Place(host_queue(), host_queue()) {}
    /// `compute` runs the step: updates, averagings, norms. `exchange` runs, concurrently with the
    /// step, kernels that make messages. Both belong to the same device.
    Place(Queue& compute, Queue& exchange) : compute_(&compute), exchange_(&exchange) {}

    Queue& compute() const { return *compute_; }
    Queue& exchange() const { return *exchange_; }
    /// True if kernels run at once, on the host. False for a device, whose launches run later.
    bool immediate() const { return compute_->immediate(); }

    const Memories& memories() const { return compute_->memories(); }
    /// The memory space of rows.
    Space space() const { return memories().space(); }
    /// Returns zeroed rows in the device's memory.
    Buffer rows(DType type, int64_t first, int64_t count, int64_t stride) const {
        return memories().rows(type, first, count, stride);
    }
    /// Returns zeroed rows that both the host and launches access.
    Buffer host_visible_rows(DType type, int64_t first, int64_t count, int64_t stride) const {
        return memories().host_visible_rows(type, first, count, stride);
    }
    /// Returns an array of `count` copies of `value`, which both the host and launches access.
    template <class T>
    HostVisibleArray<T> values(size_t count, const T& value = T()) const {
        return memories().values<T>(count, value);
    }

private:
    Queue* compute_;
    Queue* exchange_;
};

/// The host as a place.
inline Place host_place() { return {}; }

}  // namespace dbench::arena
