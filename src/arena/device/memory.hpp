#pragma once
// The default memory of this process. Without a device all rows are in the host's memory. With a
// device, rows are in the device's memory, and arrays that both access are in memory that both can
// access.

#include <cstddef>
#include <memory>
#include <vector>

#include "arena/rows.hpp"

namespace dbench::arena {

/// Sets the default allocators: `rows` for Buffers that are created without one (`space` says if
/// the host can access them), and `values` for host-visible arrays (`HostVisibleArray`); null
/// means: as `rows`. If both are null, the host's own memory is used, as initially. Blocks may
/// outlive the setting. An allocator may reuse a freed block immediately, so memory that pending
/// launches access must be kept alive (`Queue::keep`).
void set_default_memory(Memory rows, Memory values = nullptr, Space space = Space::host);
/// Returns the default allocator of rows; null if it is the host's.
Memory default_row_memory();
/// Returns the memory space of default_row_memory().
Space default_row_space();
/// Returns the allocator of `HostVisibleArray`: for rows that both the host and launches access,
/// for example messages that the host makes.
Memory host_visible_memory();
/// Returns the allocator of the host's own memory, whatever the default is: for rows that only the
/// host accesses, for example minibatches.
Memory host_memory();

void* allocate_values(size_t bytes);  ///< 64-byte aligned, contents undefined.
void free_values(void* values) noexcept;

/// The allocator of `HostVisibleArray`.
template <class T>
struct ValuesAllocator {
    using value_type = T;
    ValuesAllocator() = default;
    template <class U>
    ValuesAllocator(const ValuesAllocator<U>&) {}
    T* allocate(size_t count) { return static_cast<T*>(allocate_values(count * sizeof(T))); }
    void deallocate(T* values, size_t) noexcept { free_values(values); }
    bool operator==(const ValuesAllocator&) const { return true; }
};

/// A small array that both kernels and the host read or write, for example norms or moments.
template <class T>
using HostVisibleArray = std::vector<T, ValuesAllocator<T>>;

}  // namespace dbench::arena
