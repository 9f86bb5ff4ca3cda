#include "base/run_position.hpp"

#include <csignal>
#include <string>

#include "catch.hpp"

using namespace dbench::base;

namespace {

RunPosition seen;

}  // namespace

TEST_CASE("A signal handler reads the last recorded iteration and phase") {
    CHECK(run_position().iteration == -1);
    CHECK(run_position().phase == std::string("preparation"));
    note_iteration(7);
    note_phase("gradient");
    note_iteration(8);
    const auto before = std::signal(SIGUSR1, [](int) { seen = run_position(); });
    std::raise(SIGUSR1);
    std::signal(SIGUSR1, before);
    CHECK(seen.iteration == 8);
    CHECK(seen.phase == std::string("gradient"));
    note_preparation();  // A second run starts.
    CHECK(run_position().iteration == -1);
    CHECK(run_position().phase == std::string("preparation"));
}
