#include "arena/device/memory.hpp"

#include <mutex>
#include <new>
#include <utility>

namespace dbench::arena {
namespace {

struct Used {
    std::mutex mutex;
    Memory rows, values;
    Space space = Space::host;
};
Used& used() {
    static Used used;
    return used;
}

// In front of values stands who owns their memory, which may be other memory than the next ones'.
constexpr size_t kHeader = 64;
using Owner = std::shared_ptr<void>;
static_assert(sizeof(Owner) <= kHeader);

Owner values_memory(size_t bytes) {
    Memory memory;
    {
        const std::lock_guard lock(used().mutex);
        memory = used().values;
    }
    if (memory) return memory(static_cast<int64_t>(bytes));
    constexpr std::align_val_t kAlignment{kHeader};
    return {::operator new(bytes, kAlignment),
            [](void* block) { ::operator delete(block, kAlignment); }};
}

}  // namespace

void use_memory(Memory rows, Memory values, Space space) {
    const std::lock_guard lock(used().mutex);
    used().values = values ? std::move(values) : rows;
    used().rows = std::move(rows);
    used().space = space;
}

Memory rows_memory() {
    const std::lock_guard lock(used().mutex);
    return used().rows;
}

Space rows_space() {
    const std::lock_guard lock(used().mutex);
    return used().space;
}

Memory reached_memory() {
    const std::lock_guard lock(used().mutex);
    return used().values ? used().values : host_memory();
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
