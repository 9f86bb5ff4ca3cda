// Checks that need thousands of iterations: exactness and bias under heterogeneous data, and
// averaging of noise.

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "comm/transport/launcher.hpp"
#include "conform/check_setup.hpp"
#include "conform/conform.hpp"

TEST_CASE("bias and noise are as promised") {
    using namespace dbench;
    comm::World alone{comm::alone()};
    int exact = 0, halved = 0, noise = 0;
    for (const auto& tested : conform::conformance_cases("")) {
        const auto report = conform::conform(alone, tested, {});
        INFO(report.title);
        CHECK(report.passed());
        for (const auto& check : report.checks) {
            exact += check.name == "exact";
            halved += check.name == "bias";
            noise += check.name == "noise";
        }
    }
    CHECK(exact >= 7);
    CHECK(halved >= 12);
    CHECK(noise >= 15);
}

TEST_CASE("on the complete graph all replicas of d_amsgrad divide by the same number") {
    using namespace dbench::conform;
    dbench::comm::World alone{dbench::comm::alone()};
    const auto tested = conformance_cases("d_amsgrad").front();
    const auto training =
        training_of(tested, dbench::graphs::resolve_graph("complete", "graph"), 5, 6);
    const auto problem = softmax_regression(5, 1);
    ProductionRun run(alone, *problem, training, *tested.row);
    for (int t = 0; t < 6; ++t) {
        run.step();
        const Matrix u = run.state("algorithm/tracker");
        const Matrix largest = run.state("algorithm/largest_second_moment");
        CHECK((u.rowwise() - u.row(0)).cwiseAbs().maxCoeff() == 0);
        CHECK((largest.rowwise() - largest.row(0)).cwiseAbs().maxCoeff() > 0);
        CHECK(u.maxCoeff() > 0);
    }
}
