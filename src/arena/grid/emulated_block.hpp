#pragma once  // Private to arena/grid.
// A block of an emulated device. It runs the code of a device's block, with the iterations of a
// loop in an arbitrary order. A body whose results depend on this order gives other bits than the
// host.

#include <numeric>
#include <vector>

#include "arena/grid/block.hpp"
#include "arena/grid/poisoned_memory.hpp"

namespace dbench::arena {

class EmulatedBlock : public ThreadedBlock<EmulatedBlock> {
public:
    /// `scratch` must have the bytes that the body requests, `stage` those of ThreadedBlock::Stage.
    EmulatedBlock(char* scratch, void* stage, uint64_t order)
        : ThreadedBlock(scratch, stage), order_(order) {}

    template <class Work>
    void for_each(int64_t count, const Work& work) {
        if (count < 1) return;
        // A step that has no common divisor with `count` reaches every iteration exactly once.
        order_ = order_ * 6364136223846793005u + 1442695040888963407u;
        const int64_t start = static_cast<int64_t>((order_ >> 33) % static_cast<uint64_t>(count));
        int64_t step = 1 + static_cast<int64_t>((order_ >> 40) % static_cast<uint64_t>(count));
        while (std::gcd(step, count) != 1) ++step;
        int64_t c = start;
        for (int64_t k = 0; k < count; ++k) {
            work(c);
            c = (c + step) % count;
        }
    }
    template <class Work>
    void for_rows(int64_t rows, int64_t count, const Work& work) {
        for_each(rows * count, [&](int64_t k) { work(k / count)(k % count); });
    }
    /// Runs all reads before the first work, the most that for_rows allows.
    template <class Read, class Work>
    void for_rows(int64_t rows, int64_t count, const Read& read, const Work& work) {
        using Value = decltype(read(int64_t{})(int64_t{}));
        std::vector<Value> values(static_cast<size_t>(rows * count));
        for_each(rows * count,
                 [&](int64_t k) { values[static_cast<size_t>(k)] = read(k / count)(k % count); });
        for_each(rows * count,
                 [&](int64_t k) { work(k / count)(k % count, values[static_cast<size_t>(k)]); });
    }

    template <class V>
    static void add(V* to, V value) {
        *to += value;
    }

private:
    uint64_t order_;
};

/// Runs block `index` of `body` in poisoned memory, with the iteration orders that `order` selects.
template <class Body>
void run_emulated(const Body& body, int64_t index, uint64_t order) {
    PoisonedMemory memory(body.scratch_bytes(), sizeof(EmulatedBlock::Stage));
    EmulatedBlock block(memory.scratch(), memory.stage(), order);
    body(block, index);
}

}  // namespace dbench::arena
