#include "base/quantile.hpp"

#include <limits>
#include <vector>

#include "catch.hpp"

using dbench::base::quantile;

TEST_CASE("A quantile is a value, or lies between two in proportion") {
    const std::vector<double> values{1, 2, 4, 8, 16};
    CHECK(quantile(values, 0) == 1);
    CHECK(quantile(values, 0.5) == 4);
    CHECK(quantile(values, 1) == 16);
    CHECK(quantile(values, 0.25 / 4) == 1.25);
    CHECK(quantile(values, 0.875) == 12);
    CHECK(quantile(std::vector<double>{3}, 0.7) == 3);
    // A neighbour that is not finite does not matter at the position of a value.
    CHECK(quantile(std::vector<double>{1, std::numeric_limits<double>::infinity()}, 0) == 1);
}
