// The barriers of asynchronous algorithms in one process.

#include "catch.hpp"
#include "train/run/asynchronous_trainer.hpp"

namespace dbench::train::tests {

TEST_CASE("Barriers precede evaluations, checkpoints and profiled iterations, and end the run") {
    TrainerPlan plan;
    plan.iterations = 100;
    CHECK(next_barrier(plan, 0) == 100);
    plan.evaluate_every = 30;
    CHECK(next_barrier(plan, 0) == 30);
    CHECK(next_barrier(plan, 30) == 60);
    CHECK(next_barrier(plan, 90) == 100);
    plan.checkpoint_every = 40;
    CHECK(next_barrier(plan, 30) == 40);
    plan.profile.rows = base::Cadence(7);
    CHECK(next_barrier(plan, 30) == 35);
}

TEST_CASE("A long run without events has barriers, too, so that few records are kept") {
    TrainerPlan plan;
    plan.iterations = 1'000'000'000;
    const int64_t first = next_barrier(plan, 0);
    CHECK(first > 1000);
    CHECK(first < 1'000'000);
    CHECK(next_barrier(plan, first) == 2 * first);
    plan.iterations = first + 5;
    CHECK(next_barrier(plan, first) == first + 5);
}

}  // namespace dbench::train::tests
