// Edits of the algorithms' sources, each of which `dbench conform` must refuse.

#include "conform/mutants.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "comm/transport/launcher.hpp"
#include "conform/conform.hpp"

TEST_CASE("conformance refuses every mutant") {
    using namespace dbench;
    comm::World alone{comm::alone()};
    REQUIRE(mutants::all().size() >= 24);
    for (const mutants::Mutant& mutant : mutants::all()) {
        std::string found;
        for (conform::Subject subject : conform::subjects(mutant.row.name)) {
            subject.row = &mutant.row;
            if (mutant.optimizer) {
                const base::Json& given = subject.optimizer;
                const base::Json type = given.is_object() ? given.at("type") : given;
                if (type != mutant.optimizer->name) continue;
                subject.optimizer_row = &*mutant.optimizer;
            }
            const auto report = conform::conform(alone, subject, {.thorough = false});
            for (const auto& check : report.checks) {
                if (!check.passed()) found = report.title + ": " + check.name;
            }
            if (!found.empty()) break;
        }
        INFO(mutant.name);
        CHECK(found != "");
    }
}
