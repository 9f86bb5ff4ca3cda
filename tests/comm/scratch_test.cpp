#include "comm/scratch.hpp"

#include <cstdlib>

#include "arena/device/memory.hpp"
#include "catch.hpp"
#include "comm/plans/mixing_plan.hpp"
#include "comm/plans/plan_cache.hpp"

namespace dbench::comm {

TEST_CASE("Scratch is reused after it has been returned") {
    ScratchPool pool(arena::host_memories());
    auto first = pool.take(1 << 20);
    const char* const address = first.get();
    CHECK(reinterpret_cast<uintptr_t>(address) % 64 == 0);
    auto second = pool.take(1 << 20);
    CHECK(second.get() != address);
    auto handle = first;
    first.reset();
    CHECK(pool.take(1 << 20).get() != address);  // the other block is still in use
    handle.reset();
    CHECK(pool.take(1 << 20).get() == address);
}

TEST_CASE("Scratch may outlive its pool") {
    std::shared_ptr<char> block;
    {
        ScratchPool pool(arena::host_memories());
        block = pool.take(100);
    }
    block.get()[99] = 1;
    CHECK(block.get()[99] == 1);
}

/// Memory that counts the blocks that are allocated.
class Counted {
public:
    Counted() = default;
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

    arena::Memories memories() {
        const arena::Memory memory = [this](int64_t bytes) -> std::shared_ptr<void> {
            ++made;
            held += bytes;
            return {std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64)),
                    [this, bytes](void* block) {
                        held -= bytes;
                        std::free(block);
                    }};
        };
        return {memory, memory, arena::Space::host};
    }

    int64_t made = 0, held = 0;
};

TEST_CASE("Scratch of different sizes, used in turn, is allocated once") {
    Counted memory;
    {
        ScratchPool pool(memory.memories());
        for (int k = 0; k < 5000; ++k) {
            for (const int64_t bytes : {512 << 10, 25 << 10, 3 << 10, 170 << 10}) pool.take(bytes);
        }
        CHECK(memory.made == 4);
    }
    CHECK(memory.held == 0);
}

TEST_CASE("Scratch beyond the largest use is freed after many calls") {
    Counted memory;
    ScratchPool pool(memory.memories());
    for (const int64_t bytes : {512 << 10, 200 << 10, 64 << 10}) pool.take(bytes);
    CHECK(memory.held > 700 << 10);
    for (int k = 10; k < ScratchPool::kMaxIdleTakes; ++k) pool.take(64 << 10);
    CHECK(memory.held > 700 << 10);
    for (int k = 0; k < 20; ++k) pool.take(64 << 10);
    CHECK(memory.held < 300 << 10);
}

TEST_CASE("The plan cache keeps the plans that were used last") {
    PlanCache<MixingPlan> cache(2);
    int made = 0;
    const auto get = [&](uint64_t matrix) {
        return cache.get(matrix, [&] {
            ++made;
            return MixingPlan{};
        });
    };
    const auto one = get(1);
    get(2);
    CHECK(get(1) == one);
    CHECK(made == 2);
    get(3);  // evicts 2
    CHECK(get(1) == one);
    CHECK(made == 3);
    get(2);
    CHECK(made == 4);
}

}  // namespace dbench::comm
