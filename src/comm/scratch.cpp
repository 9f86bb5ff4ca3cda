#include "comm/scratch.hpp"

#include <algorithm>
#include <utility>

namespace dbench::comm {

/// The state of a pool. Handles share it, so it outlives the pool while blocks are in use.
struct ScratchPool::Shelf {
    struct Idle {
        arena::Buffer buffer;
        int64_t since;  // value of `taken` when the block was returned
    };

    const arena::Memories memories;
    const bool frees;  // true if old idle blocks are freed
    std::mutex mutex;
    std::vector<Idle> free;  // oldest first
    int64_t taken = 0;
    int64_t in_use = 0, most_in_use = 0, idle_bytes = 0;  // bytes

    Shelf(arena::Memories from, bool frees) : memories(std::move(from)), frees(frees) {}

    arena::Buffer take(int64_t bytes) {
        const std::lock_guard lock(mutex);
        ++taken;
        const auto fits = [&](const Idle& idle) {
            return idle.buffer.bytes() >= bytes && idle.buffer.bytes() <= 2 * bytes;
        };
        // The block that came back last is the most likely to be in the cache.
        const auto found = std::find_if(free.rbegin(), free.rend(), fits);
        arena::Buffer buffer;
        if (found != free.rend()) {
            buffer = std::move(found->buffer);
            free.erase(std::next(found).base());
            idle_bytes -= buffer.bytes();
        } else {
            const int64_t elements = (bytes + 7) / 8;
            buffer = memories.rows(arena::DType::float64, 0, 1, elements);
        }
        in_use += buffer.bytes();
        most_in_use = std::max(most_in_use, in_use);
        return buffer;
    }

    // Keeps the block for reuse. Frees old idle blocks beyond the largest amount that was ever in
    // use at once, because blocks of different sizes may be needed one after another.
    void give_back(arena::Buffer buffer) {
        const std::lock_guard lock(mutex);
        in_use -= buffer.bytes();
        idle_bytes += buffer.bytes();
        free.push_back({std::move(buffer), taken});
        while (frees && idle_bytes > most_in_use && taken - free.front().since > kMaxIdleTakes) {
            idle_bytes -= free.front().buffer.bytes();
            free.erase(free.begin());
        }
    }
};

ScratchPool::ScratchPool(arena::Memories memories)
    : shelf_(std::make_shared<Shelf>(std::move(memories), true)) {}
ScratchPool::ScratchPool(const arena::Memory& memory)
    : shelf_(std::make_shared<Shelf>(arena::Memories(memory, memory, arena::Space::host), false)) {}

std::shared_ptr<char> ScratchPool::take(int64_t bytes) {
    auto buffer = std::make_shared<arena::Buffer>(shelf_->take(std::max<int64_t>(bytes, 64)));
    char* const data = buffer->rows().at(0, 0);
    return {data, [buffer, shelf = shelf_](char*) { shelf->give_back(std::move(*buffer)); }};
}

}  // namespace dbench::comm
