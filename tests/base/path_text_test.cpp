// The notation of shells in paths is refused.

#include "base/path_text.hpp"

#include "catch.hpp"
#include "message_of.hpp"

using namespace dbench;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a path with a shell's notation is refused with a remedy", "[base]") {
    const auto refused = [](const std::string& path) {
        return base::message_of([&] { base::check_path_text(path, "/output", {"name"}); });
    };
    CHECK_THAT(refused("~/res/a.h5"), ContainsSubstring("/output: ~/res/a.h5 begins with ~"));
    CHECK_THAT(refused("~ann/a.h5"), ContainsSubstring("begins with ~"));
    CHECK_THAT(refused("$SCRATCH/a.h5"), ContainsSubstring("contains $SCRATCH"));
    CHECK_THAT(refused("x/${RUN_1}.h5"), ContainsSubstring("contains ${RUN_1}"));
    CHECK_THAT(refused("{name}-{seed}.h5"),
               ContainsSubstring("contains {seed}") && ContainsSubstring("known is {name}"));
    CHECK_THAT(refused(std::string(100000, 'x') + "{seed}"), ContainsSubstring("..."));
    for (const char* fine : {"a.h5", "{name}/a~b.h5", "x{}y", "cost-5$.h5", "", "a{b c}"}) {
        CHECK_NOTHROW(base::check_path_text(fine, "/output", {"name"}));
    }
}
