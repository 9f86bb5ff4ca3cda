#pragma once
// The memory of a device. Rows are in the memory that the device computes in. Arrays and rows that
// both the host and launches access are in memory that both can access. On the host, both are the
// host's own memory. Users get the memory of their device from a queue (Queue::memories) or from
// their rank's Place (place.hpp).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "arena/rows.hpp"
#include "base/error.hpp"

namespace dbench::arena {

/// A device has too little free memory.
class DeviceMemoryError : public base::UserError {
public:
    using UserError::UserError;
};

void* allocate_values(const Memory& memory, size_t bytes);  ///< 64-byte aligned.
void free_values(void* values) noexcept;

/// The allocator of `HostVisibleArray`. Each block returns to the memory that it came from, so all
/// allocators can free the blocks of all others.
template <class T>
struct HostVisibleAllocator {
    using value_type = T;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::true_type;

    explicit HostVisibleAllocator(std::shared_ptr<const Memory> from) : memory(std::move(from)) {}
    // A moved-from array can be filled again, so a move leaves the allocator as it is.
    HostVisibleAllocator(const HostVisibleAllocator&) = default;
    HostVisibleAllocator& operator=(const HostVisibleAllocator&) = default;
    template <class U>
    HostVisibleAllocator(const HostVisibleAllocator<U>& other) : memory(other.memory) {}

    T* allocate(size_t count) {
        return static_cast<T*>(allocate_values(*memory, count * sizeof(T)));
    }
    void deallocate(T* values, size_t) noexcept { free_values(values); }
    bool operator==(const HostVisibleAllocator&) const { return true; }

    std::shared_ptr<const Memory> memory;
};

/// A small array that both kernels and the host read or write, for example norms or moments.
template <class T>
using HostVisibleArray = std::vector<T, HostVisibleAllocator<T>>;

/// The memory in which a device's launches find rows and arrays. Blocks may outlive this object. An
/// allocator may reuse a freed block immediately, so memory that pending launches access must be
/// kept alive (`Queue::keep`).
class Memories {
public:
    /// The host's own memory.
    Memories();
    /// `rows` allocates rows, in the space `space`. `host_visible` allocates everything that both
    /// the host and launches access.
    Memories(Memory rows, Memory host_visible, Space space);

    /// The allocator of rows.
    const Memory& row_memory() const { return rows_; }
    /// The allocator of memory that both the host and launches access.
    const Memory& host_visible_memory() const { return *host_visible_; }
    /// The memory space of rows.
    Space space() const { return space_; }

    /// Returns zeroed rows (see Buffer).
    Buffer rows(DType type, int64_t first, int64_t count, int64_t stride) const;
    /// Returns zeroed rows that both the host and launches access, for example messages that the
    /// host makes.
    Buffer host_visible_rows(DType type, int64_t first, int64_t count, int64_t stride) const;
    /// Returns an array of `count` copies of `value`.
    template <class T>
    HostVisibleArray<T> values(size_t count, const T& value = T()) const {
        return HostVisibleArray<T>(count, value, HostVisibleAllocator<T>(host_visible_));
    }
    /// Returns an array with a copy of the elements of a list.
    template <class List>
    auto copy_of(const List& list) const {
        using T = std::remove_cvref_t<decltype(*std::begin(list))>;
        return HostVisibleArray<T>(std::begin(list), std::end(list),
                                   HostVisibleAllocator<T>(host_visible_));
    }

private:
    Memory rows_;
    std::shared_ptr<const Memory> host_visible_;
    Space space_;
};

/// Returns the host's own memory.
const Memories& host_memories();

}  // namespace dbench::arena
