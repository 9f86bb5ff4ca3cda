#include "arena/rows.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "arena/device/memory.hpp"
#include "base/error.hpp"
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace dbench::arena {
namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kHugePage = int64_t{2} << 20, kLarge = 2 * kHugePage;

// Buffers that a pass walks together should not start at the same place of a cache, nor a power of
// two apart, which the first cache of some processors (AMD's way prediction) takes for the same
// line: Adam's pass took twice as long then. So large buffers begin with up to 15 skipped pages and
// lines.
constexpr int64_t kColours = 16, kColourStep = 4096 + kCacheLine;

/// Bytes to skip, from a hash of the address (multiplicative, golden ratio).
int64_t colour(const void* memory) {
    const uint64_t page = reinterpret_cast<uintptr_t>(memory) / kHugePage;
    return static_cast<int64_t>((page * 0x9E3779B97F4A7C15u) >> 60) * kColourStep;
}

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// Tiled passes walk many rows at once: with small pages they would miss in the TLB at each row.
std::shared_ptr<void> allocate(int64_t bytes) {
    const bool large = bytes >= kLarge;
    const int64_t alignment = large ? kHugePage : kCacheLine;
    const int64_t size = round_up(bytes, alignment);
    void* const memory =
        std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(size));
    if (!memory) throw std::bad_alloc();
    std::shared_ptr<void> owner(memory, [](void* block) { std::free(block); });
#ifdef MADV_HUGEPAGE
    if (large) madvise(memory, static_cast<size_t>(size), MADV_HUGEPAGE);
#endif
    std::memset(memory, 0, static_cast<size_t>(size));
    return owner;
}

Memory used_memory() {
    Memory memory = rows_memory();
    return memory ? memory : host_memory();
}

}  // namespace

Memory host_memory() {
    return [](int64_t bytes) { return allocate(bytes); };
}

Buffer::Buffer(DType type, int64_t first, int64_t count, int64_t stride)
    : Buffer(type, first, count, stride, used_memory()) {
    rows_.space = rows_space();
}

Buffer::Buffer(DType type, int64_t first, int64_t count, int64_t stride, const Memory& memory)
    : rows_{nullptr, type, Space::host, first, count, stride} {
    DBENCH_EXPECT(count >= 0 && stride >= 0);
    if (count == 0 || stride == 0) return;
    if (stride > std::numeric_limits<int64_t>::max() / 16 / count) throw std::bad_alloc();
    const bool large = bytes() >= kLarge;
    memory_ = memory(bytes() + (large ? kColours * kColourStep : 0));
    rows_.data = static_cast<char*>(memory_.get()) + (large ? colour(memory_.get()) : 0);
}

}  // namespace dbench::arena
