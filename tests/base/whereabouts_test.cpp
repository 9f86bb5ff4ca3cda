#include "base/whereabouts.hpp"

#include <csignal>
#include <string>

#include "catch.hpp"

using namespace dbench::base;

namespace {

Whereabouts seen;

}  // namespace

TEST_CASE("a signal handler reads the iteration and the phase that were noted last") {
    CHECK(whereabouts().iteration == -1);
    CHECK(whereabouts().phase == std::string("preparation"));
    note_iteration(7);
    note_phase("gradient");
    note_iteration(8);
    const auto before = std::signal(SIGUSR1, [](int) { seen = whereabouts(); });
    std::raise(SIGUSR1);
    std::signal(SIGUSR1, before);
    CHECK(seen.iteration == 8);
    CHECK(seen.phase == std::string("gradient"));
    note_preparation();  // of another run
    CHECK(whereabouts().iteration == -1);
    CHECK(whereabouts().phase == std::string("preparation"));
}
