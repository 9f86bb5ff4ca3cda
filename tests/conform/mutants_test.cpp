// Runs `dbench conform` on mutants: edits of the algorithms' sources, each of which it must reject.

#include "conform/mutants.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "comm/transport/launcher.hpp"
#include "conform/conform.hpp"

TEST_CASE("conformance rejects every mutant") {
    using namespace dbench;
    comm::World alone{comm::alone()};
    REQUIRE(mutants::all().size() >= 24);
    for (const mutants::Mutant& mutant : mutants::all()) {
        std::string found;
        for (conform::ConformanceCase tested : conform::conformance_cases(mutant.row.name)) {
            tested.row = &mutant.row;
            if (mutant.optimizer) {
                const base::Json& given = tested.optimizer;
                const base::Json type = given.is_object() ? given.at("type") : given;
                if (type != mutant.optimizer->name) continue;
                tested.optimizer_row = &*mutant.optimizer;
            }
            const auto report = conform::conform(alone, tested, {.thorough = false});
            for (const auto& check : report.checks) {
                if (!check.passed()) found = report.title + ": " + check.name;
            }
            if (!found.empty()) break;
        }
        INFO(mutant.name);
        CHECK(found != "");
    }
}
