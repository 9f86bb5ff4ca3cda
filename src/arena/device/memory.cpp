#include "arena/device/memory.hpp"

#include <mutex>
#include <new>
#include <utility>

namespace dbench::arena {
namespace {

struct Defaults {
    std::mutex mutex;
    Memory rows, values;
    Space space = Space::host;
};
Defaults& defaults() {
    static Defaults defaults;
    return defaults;
}

// A header before the values stores the owner of their memory: blocks may come from different
// allocators.
constexpr size_t kHeader = 64;
using Owner = std::shared_ptr<void>;
static_assert(sizeof(Owner) <= kHeader);

Owner values_memory(size_t bytes) {
    Memory memory;
    {
        const std::lock_guard lock(defaults().mutex);
        memory = defaults().values;
    }
    if (memory) return memory(static_cast<int64_t>(bytes));
    constexpr std::align_val_t kAlignment{kHeader};
    return {::operator new(bytes, kAlignment),
            [](void* block) { ::operator delete(block, kAlignment); }};
}

}  // namespace

void set_default_memory(Memory rows, Memory values, Space space) {
    const std::lock_guard lock(defaults().mutex);
    defaults().values = values ? std::move(values) : rows;
    defaults().rows = std::move(rows);
    defaults().space = space;
}

Memory default_row_memory() {
    const std::lock_guard lock(defaults().mutex);
    return defaults().rows;
}

Space default_row_space() {
    const std::lock_guard lock(defaults().mutex);
    return defaults().space;
}

Memory host_visible_memory() {
    const std::lock_guard lock(defaults().mutex);
    return defaults().values ? defaults().values : host_memory();
}

void* allocate_values(size_t bytes) {
    Owner owner = values_memory(kHeader + bytes);
    char* const block = static_cast<char*>(owner.get());
    new (block) Owner(std::move(owner));
    return block + kHeader;
}

void free_values(void* values) noexcept {
    auto* const header = reinterpret_cast<Owner*>(static_cast<char*>(values) - kHeader);
    const Owner owner = std::move(*header);
    header->~Owner();
}

}  // namespace dbench::arena
