#include "arena/device/memory.hpp"

#include <new>

namespace dbench::arena {
namespace {

// A header before the values stores the owner of their memory: blocks may come from different
// allocators.
constexpr size_t kHeader = 64;
using Owner = std::shared_ptr<void>;
static_assert(sizeof(Owner) <= kHeader);

}  // namespace

void* allocate_values(const Memory& memory, size_t bytes) {
    Owner owner = memory(static_cast<int64_t>(kHeader + bytes));
    char* const block = static_cast<char*>(owner.get());
    new (block) Owner(std::move(owner));
    return block + kHeader;
}

void free_values(void* values) noexcept {
    auto* const header = reinterpret_cast<Owner*>(static_cast<char*>(values) - kHeader);
    const Owner owner = std::move(*header);
    header->~Owner();
}

Memories::Memories() : Memories(host_memory(), host_memory(), Space::host) {}

Memories::Memories(Memory rows, Memory host_visible, Space space)
    : rows_(std::move(rows)),
      host_visible_(std::make_shared<const Memory>(std::move(host_visible))),
      space_(space) {}

Buffer Memories::rows(DType type, int64_t first, int64_t count, int64_t stride) const {
    return {type, first, count, stride, rows_, space_};
}

Buffer Memories::host_visible_rows(DType type, int64_t first, int64_t count, int64_t stride) const {
    return {type, first, count, stride, *host_visible_};
}

const Memories& host_memories() {
    static const Memories memories;
    return memories;
}

}  // namespace dbench::arena
