#pragma once
// The memory that an emulated device can see. Memory from other allocators, and freed memory, is
// not visible.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include "arena/device/memory.hpp"
#include "arena/device/queue.hpp"

namespace dbench::arena {

/// The memory of an emulated device. Rows get the memory space `space`.
class SeenMemory {
public:
    explicit SeenMemory(Space space = Space::host) {
        const Memory memory = [blocks = blocks_](int64_t bytes) { return take(blocks, bytes); };
        memories_ = {memory, memory, space};
    }
    SeenMemory(const SeenMemory&) = delete;
    SeenMemory& operator=(const SeenMemory&) = delete;

    /// The memory, for queues.
    const Memories& memories() const { return memories_; }

    /// Returns true if the whole access is in this memory.
    bool holds(const Access& access) const {
        const std::lock_guard lock(blocks_->mutex);
        for (int64_t row = 0; access.bytes > 0 && row < access.rows; ++row) {
            const char* const begin = static_cast<const char*>(access.data) + row * access.stride;
            const auto after = blocks_->ends.upper_bound(begin);
            if (after == blocks_->ends.begin()) return false;
            if (begin + access.bytes > std::prev(after)->second) return false;
        }
        return true;
    }

private:
    struct Blocks {
        std::mutex mutex;
        std::map<const char*, const char*> ends;  // By the start of each block.
    };

    static std::shared_ptr<void> take(const std::shared_ptr<Blocks>& blocks, int64_t bytes) {
        const auto size = static_cast<size_t>((std::max<int64_t>(bytes, 1) + 63) / 64 * 64);
        auto* const block = static_cast<char*>(std::aligned_alloc(64, size));
        if (!block) throw std::bad_alloc();
        std::memset(block, 0, size);
        const std::lock_guard lock(blocks->mutex);
        blocks->ends[block] = block + bytes;
        return {block, [blocks](void* gone) {
                    {
                        const std::lock_guard lock(blocks->mutex);
                        blocks->ends.erase(static_cast<const char*>(gone));
                    }
                    std::free(gone);
                }};
    }

    std::shared_ptr<Blocks> blocks_ = std::make_shared<Blocks>();
    Memories memories_;
};

}  // namespace dbench::arena
