#include "comm/scratch.hpp"

#include "catch.hpp"
#include "comm/mixing_plan.hpp"
#include "comm/plan_cache.hpp"

namespace dbench::comm {

TEST_CASE("Scratch is used again once it is given back") {
    ScratchPool pool;
    auto first = pool.take(1 << 20);
    const char* const address = first.get();
    CHECK(reinterpret_cast<uintptr_t>(address) % 64 == 0);
    auto second = pool.take(1 << 20);
    CHECK(second.get() != address);
    auto handle = first;
    first.reset();
    CHECK(pool.take(1 << 20).get() != address);  // somebody still holds it
    handle.reset();
    CHECK(pool.take(1 << 20).get() == address);
}

TEST_CASE("Scratch may outlive its pool") {
    std::shared_ptr<char> block;
    {
        ScratchPool pool;
        block = pool.take(100);
    }
    block.get()[99] = 1;
    CHECK(block.get()[99] == 1);
}

TEST_CASE("The plans that were used last are kept") {
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
    get(3);  // in place of 2
    CHECK(get(1) == one);
    CHECK(made == 3);
    get(2);
    CHECK(made == 4);
}

}  // namespace dbench::comm
