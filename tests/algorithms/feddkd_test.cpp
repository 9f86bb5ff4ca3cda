// Test of the minibatches on which feddkd distils.

#include "algorithms/stepper_run.hpp"
#include "catch.hpp"
#include "comm/transport/launcher.hpp"

using namespace dbench;
using namespace dbench::algorithms;
using namespace dbench::algorithms::tests;
using base::Json;

TEST_CASE("feddkd distils on the minibatches of its local steps, the last one first") {
    comm::World world{comm::alone()};
    const Json spec = resolve_algorithm(
        {{"type", "feddkd"}, {"period", 3}, {"distill_steps", 5}, {"temperature", 2.5}});
    Run run(world, *base::find_entry(algorithm_table(), "feddkd"), spec,
            resolve_optimizer("sgd", "/optimizer"));
    run.stepper->attach(run.table, run.g.rows());
    std::vector<int64_t> asked;
    run.stepper->set_distillation(
        [&](arena::Rows student, arena::Rows teacher, int64_t of, double temperature) {
            CHECK(student.data == run.table.parameters().data);
            CHECK(teacher.data != student.data);
            CHECK(temperature == 2.5);
            asked.push_back(of);
        });
    SilentObserver silent;
    for (int64_t t = 0; t < 6; ++t) {
        IterationRecord record;
        run.stepper->step(
            t, 0.1, [&](const auto& ready) { ready(run.layout.all()); }, record, silent);
        CHECK(record.averagings == (t % 3 == 2 ? 6 : 0));
        CHECK(record.messages == (t % 3 == 2 ? 6 * 2 * kReplicas : 0));
    }
    CHECK(asked == std::vector<int64_t>{2, 1, 0, 2, 1, 5, 4, 3, 5, 4});
}
