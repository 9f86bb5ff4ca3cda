#include "base/keep_until_exit.hpp"

#include <memory>
#include <utility>

#include "catch.hpp"

TEST_CASE("An object that is kept outlives its last other owner") {
    auto object = std::make_shared<int>(7);
    const std::weak_ptr<int> seen = object;
    dbench::base::keep_until_exit(std::move(object));
    CHECK(*seen.lock() == 7);
}
