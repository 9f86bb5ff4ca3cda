// Conformance of every algorithm in all its forms, on 1, 2 and 4 ranks.

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "comm/transport/launcher.hpp"
#include "conform/conform.hpp"

namespace {

using namespace dbench;

void check_algorithms(const conform::Report& report) {
    INFO(report.title << " on " << report.graph);
    CHECK(report.skipped.empty());
    CHECK_FALSE(report.checks.empty());
    for (const auto& each : report.checks) {
        INFO(each.name << " " << each.note << ": " << each.found);
        CHECK(each.passed());
    }
}

}  // namespace

TEST_CASE("every algorithm agrees with its reference and has its promised properties") {
    comm::World world{comm::launch()};
    for (const int64_t n : {7}) {
        for (const auto& tested : conform::conformance_cases("")) {
            if (tested.row->traits.asynchronous && world.size() > 1) continue;
            const auto report = conform::conform(world, tested, {.replicas = n, .thorough = false});
            check_algorithms(report);
            const bool compared = !report.checks.empty() && report.checks[0].name == "reference";
            INFO(report.title);
            CHECK(compared);
        }
    }
}

TEST_CASE("algorithms with an equality statement train identically") {
    comm::World world{comm::launch()};
    for (const auto& equality : conform::equalities()) {
        const auto report = conform::conform(world, equality, {});
        if (world.size() > 1 && report.skipped == "on several ranks its numbers depend on timing")
            continue;
        check_algorithms(report);
    }
}
