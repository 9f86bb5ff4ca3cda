#include "arena/rows.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "base/error.hpp"

namespace dbench::arena {
namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kHugePage = int64_t{2} << 20, kLarge = 2 * kHugePage;

// Buffers that a kernel reads together should not start at the same position of a cache, nor at a
// distance of a power of two. The first-level cache of some processors (AMD's way prediction)
// treats such addresses as the same line; Adam's kernel took twice as long (measured). Large
// buffers therefore skip up to 15 pages and lines at their beginning.
constexpr int64_t kColours = 16, kColourStep = 4096 + kCacheLine;

/// Returns the number of bytes to skip, from a multiplicative hash of the address (golden ratio).
int64_t colour(const void* memory) {
    const uint64_t page = reinterpret_cast<uintptr_t>(memory) / kHugePage;
    return static_cast<int64_t>((page * 0x9E3779B97F4A7C15u) >> 60) * kColourStep;
}

// Large blocks use huge pages: tiled kernels walk over many rows at once and would miss in the TLB
// at each row with small pages.
std::shared_ptr<void> allocate(int64_t bytes) {
    const bool large = bytes >= kLarge;
    const int64_t alignment = large ? kHugePage : kCacheLine;
    const int64_t size = round_up(bytes, alignment);
    void* const memory =
        std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(size));
    if (!memory) throw std::bad_alloc();
    std::shared_ptr<void> owner(memory, [](void* block) { std::free(block); });
    if (large) madvise(memory, static_cast<size_t>(size), MADV_HUGEPAGE);
    std::memset(memory, 0, static_cast<size_t>(size));
    return owner;
}

}  // namespace

Memory host_memory() {
    return [](int64_t bytes) { return allocate(bytes); };
}

Buffer::Buffer(DType type, int64_t first, int64_t count, int64_t stride)
    : Buffer(type, first, count, stride, host_memory()) {}

Buffer::Buffer(DType type, int64_t first, int64_t count, int64_t stride, const Memory& memory,
               Space space)
    : rows_{nullptr, type, space, first, count, stride} {
    DBENCH_EXPECT(count >= 0 && stride >= 0);
    if (count == 0 || stride == 0) return;
    if (stride > std::numeric_limits<int64_t>::max() / 16 / count) throw std::bad_alloc();
    const bool large = bytes() >= kLarge;
    memory_ = memory(bytes() + (large ? kColours * kColourStep : 0));
    rows_.data = static_cast<char*>(memory_.get()) + (large ? colour(memory_.get()) : 0);
}

}  // namespace dbench::arena
