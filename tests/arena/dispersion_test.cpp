#include "arena/sums/dispersion.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"

namespace dbench::arena {
namespace {

Dispersion of(std::vector<double> values) { return dispersion(values); }

}  // namespace

TEST_CASE("Dispersion of four numbers equals a manual calculation") {
    // mean 3, deviations 2 1 0 3; the pair differences 1 2 5 1 4 3 sum to 16, counted twice: 32 /
    // (2 16 3).
    const Dispersion d = of({6, 1, 3, 2});
    CHECK(d.gini == Catch::Approx(32.0 / 96));
    CHECK(d.index_of_dispersion == Catch::Approx(3.5 / 3));
    CHECK(d.coefficient_of_variation == Catch::Approx(std::sqrt(3.5) / 3));
    CHECK(d.quartile_coefficient == Catch::Approx((3.75 - 1.75) / (3.75 + 1.75)));
}

TEST_CASE("If one value is everything, Gini is 1 - 1/n") {
    std::vector<double> values(10, 0.0);
    values[3] = 5;
    const Dispersion d = of(values);
    CHECK(d.gini == Catch::Approx(0.9));
    CHECK(d.coefficient_of_variation == Catch::Approx(3));
    CHECK(d.quartile_coefficient == 0);  // Both quartiles are 0.
}

TEST_CASE("Equal values have a dispersion of exactly 0 for any n") {
    for (const double value : {0.1, 1e-300, 3e200, 0.0}) {
        for (const size_t n : {1u, 2u, 3u, 7u, 1008u}) {
            const Dispersion d = of(std::vector<double>(n, value));
            CHECK(d.gini == 0);
            CHECK(d.index_of_dispersion == 0);
            CHECK(d.coefficient_of_variation == 0);
            CHECK(d.quartile_coefficient == 0);
        }
    }
}

TEST_CASE("All measures except the index do not depend on the unit") {
    const Dispersion d = of({1, 2, 4, 8, 16}), scaled = of({3, 6, 12, 24, 48});
    CHECK(scaled.gini == Catch::Approx(d.gini));
    CHECK(scaled.index_of_dispersion == Catch::Approx(3 * d.index_of_dispersion));
    CHECK(scaled.coefficient_of_variation == Catch::Approx(d.coefficient_of_variation));
    CHECK(scaled.quartile_coefficient == Catch::Approx(d.quartile_coefficient));
}

TEST_CASE("The Gini coefficient is the mean difference of all pairs") {
    std::vector<double> values;
    for (int k = 0; k < 101; ++k) values.push_back(1 + std::fmod(k * 0.618, 1.0));
    double differences = 0, sum = 0;
    for (const double a : values) {
        sum += a;
        for (const double b : values) differences += std::abs(a - b);
    }
    CHECK(of(values).gini == Catch::Approx(differences / (2 * 101 * sum)).epsilon(1e-12));
}

TEST_CASE("A NaN makes all measures NaN") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Dispersion d = of({1, nan, 2});
    CHECK(std::isnan(d.gini));
    CHECK(std::isnan(d.index_of_dispersion));
    CHECK(std::isnan(d.coefficient_of_variation));
    CHECK(std::isnan(d.quartile_coefficient));
    // One diverged replica does not change the quartiles of the others.
    const Dispersion far = of({1, 2, 3, 4, std::numeric_limits<double>::infinity()});
    CHECK(std::isnan(far.gini));
    CHECK(far.quartile_coefficient == Catch::Approx((4.0 - 2) / (4 + 2)));
}

}  // namespace dbench::arena
