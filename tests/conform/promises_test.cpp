// Checks that need thousands of iterations: exactness and bias under heterogeneous data, and
// averaging of noise.

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "comm/transport/launcher.hpp"
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
