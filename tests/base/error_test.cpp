#undef NDEBUG  // Contracts must be checked whether or not NDEBUG is defined.
#include "base/error.hpp"

#include <string>
#include <type_traits>

#include "catch.hpp"

namespace dbench::base {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("A broken contract names the condition and the file, and is not a UserError") {
    const auto half = [](int even) {
        DBENCH_EXPECT(even % 2 == 0);
        return even / 2;
    };
    CHECK(half(6) == 3);
    std::string message;
    try {
        half(7);
    } catch (const std::logic_error& error) {
        message = error.what();
    }
    CHECK_THAT(message, ContainsSubstring("broken contract: even % 2 == 0"));
    CHECK_THAT(message, ContainsSubstring("error_test.cpp:"));
}

TEST_CASE("UserError and RunError are different types") {
    CHECK_FALSE(std::is_base_of_v<RunError, UserError>);
    CHECK_FALSE(std::is_base_of_v<UserError, RunError>);
    CHECK_FALSE(std::is_base_of_v<std::logic_error, UserError>);
    CHECK(kExitFailed == 1);
    CHECK(kExitUser == 2);
    CHECK(kExitPreempted == 75);
}

}  // namespace dbench::base
