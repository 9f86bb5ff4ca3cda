#pragma once
// Where this process's rows lie, and what kernels write for the host: in its own memory, or, where
// it computes on a device, rows in the device's, and what both touch in memory that both reach.

#include <cstddef>
#include <memory>
#include <vector>

#include "arena/rows.hpp"

namespace dbench::arena {

/// Where all rows lie that are made from now on and are given no memory, whether the host reaches
/// them there (`space`), and where all `Values` lie, which it always reaches: null for these: with
/// the rows. Both null: in the host's own memory, as at first. Blocks may outlive it. A block that
/// is given back may be handed out again: what launches still touch is kept for them
/// (`Queue::keep`).
void use_memory(Memory rows, Memory values = nullptr, Space space = Space::host);
/// The first of these; null where that is the host's.
Memory rows_memory();
Space rows_space();
/// That of the `Values`: for rows that both the host and launches touch, such as messages that the
/// host makes.
Memory reached_memory();
/// The host's own, whatever is used: for rows that the host alone touches, such as minibatches.
Memory host_memory();

void* allocate_values(size_t bytes);  ///< 64-byte aligned, contents undefined
void free_values(void* values) noexcept;

/// The allocator of `Values`.
template <class T>
struct SeenByDevice {
    using value_type = T;
    SeenByDevice() = default;
    template <class U>
    SeenByDevice(const SeenByDevice<U>&) {}
    T* allocate(size_t count) { return static_cast<T*>(allocate_values(count * sizeof(T))); }
    void deallocate(T* values, size_t) noexcept { free_values(values); }
    bool operator==(const SeenByDevice&) const { return true; }
};

/// Small arrays that kernels write or read, and the host too: norms, moments.
template <class T>
using Values = std::vector<T, SeenByDevice<T>>;

}  // namespace dbench::arena
