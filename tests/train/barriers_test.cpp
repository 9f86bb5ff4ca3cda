// The barriers of asynchronous algorithms in one process.

#include "catch.hpp"
#include "train/run/asynchronous_trainer.hpp"

namespace dbench::train::tests {

TEST_CASE("Barriers precede evaluations, checkpoints and profiled iterations, and end the run") {
    TrainerPlan plan;
    plan.iterations = 100;
    CHECK(next_barrier(plan, 0, 1) == 100);
    plan.evaluate_every = 30;
    CHECK(next_barrier(plan, 0, 1) == 30);
    CHECK(next_barrier(plan, 30, 1) == 60);
    CHECK(next_barrier(plan, 90, 1) == 100);
    plan.checkpoint_every = 40;
    CHECK(next_barrier(plan, 30, 1) == 40);
    plan.profile.rows = base::Cadence(7);
    CHECK(next_barrier(plan, 30, 1) == 35);
}

TEST_CASE("A long run without events has barriers, too, so that few records are kept") {
    TrainerPlan plan;
    plan.iterations = 1'000'000'000;
    const int64_t first = next_barrier(plan, 0, 1);
    CHECK(first > 1000);
    CHECK(first < 1'000'000);
    CHECK(next_barrier(plan, first, 1) == 2 * first);
    plan.iterations = first + 5;
    CHECK(next_barrier(plan, first, 1) == first + 5);
}

TEST_CASE("The records of many replicas between two barriers take at most 256 MiB") {
    TrainerPlan plan;
    plan.iterations = 1'000'000'000;
    const int64_t of_few = next_barrier(plan, 0, 1);
    CHECK(next_barrier(plan, 0, 128) == of_few);
    for (const int64_t replicas : {129, 1000, 100'000}) {
        const int64_t first = next_barrier(plan, 0, replicas);
        CHECK(first < of_few);
        // Four numbers of a replica are kept of each iteration.
        CHECK(first * replicas * 4 * 8 <= 256 << 20);
        CHECK((first + 1) * replicas * 4 * 8 > 256 << 20);
    }
    CHECK(next_barrier(plan, 7, 1'000'000'000) == 8);
}

}  // namespace dbench::train::tests
