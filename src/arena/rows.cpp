#include "arena/rows.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "base/error.hpp"
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace dbench::arena {
namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kHugePage = int64_t{2} << 20;

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

Buffer::Buffer(DType type, int64_t first, int64_t count, int64_t stride)
    : rows_{nullptr, type, Space::host, first, count, stride} {
    DBENCH_EXPECT(count >= 0 && stride >= 0);
    if (count == 0 || stride == 0) return;
    if (stride > std::numeric_limits<int64_t>::max() / 16 / count) throw std::bad_alloc();
    // Tiled passes walk many rows at once: with small pages they would miss in the TLB at each row.
    const bool large = bytes() >= 2 * kHugePage;
    const int64_t alignment = large ? kHugePage : kCacheLine;
    const int64_t size = round_up(bytes(), alignment);
    memory_.reset(std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(size)));
    if (!memory_) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (large) madvise(memory_.get(), static_cast<size_t>(size), MADV_HUGEPAGE);
#endif
    std::memset(memory_.get(), 0, static_cast<size_t>(size));
    rows_.data = memory_.get();
}

void Buffer::Free::operator()(void* memory) const { std::free(memory); }

}  // namespace dbench::arena
