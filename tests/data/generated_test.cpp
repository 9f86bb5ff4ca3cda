#include <cmath>
#include <numeric>

#include "catch.hpp"
#include "data/sets/drawing.hpp"
#include "data/sets/regression.hpp"
#include "data/support.hpp"

using namespace dbench;
using base::Json;
using test::data_spec;
using test::input_of;

namespace {

data::DataSets shapes(const std::string& keys, uint64_t seed = 1) {
    return data::load_data(data_spec(R"({"type": "shapes", )" + keys + "}"), {1, seed});
}

// Returns the minimiser of the squared error over samples first .. first + count - 1, by Gaussian
// elimination on the normal equations.
std::vector<double> least_squares(const data::Dataset& data, int64_t first, int64_t count) {
    const size_t d = static_cast<size_t>(data.shape()[0]);
    std::vector<std::vector<double>> rows(d, std::vector<double>(d + 1));
    for (int64_t k = first; k < first + count; ++k) {
        const auto a = input_of(data, k);
        for (size_t i = 0; i < d; ++i) {
            for (size_t j = 0; j < d; ++j) rows[i][j] += a[i] * a[j];
            rows[i][d] += a[i] * data.target(k);
        }
    }
    for (size_t p = 0; p < d; ++p) {
        for (size_t i = 0; i < d; ++i) {
            if (i == p) continue;
            const double share = rows[i][p] / rows[p][p];
            for (size_t j = p; j <= d; ++j) rows[i][j] -= share * rows[p][j];
        }
    }
    std::vector<double> x(d);
    for (size_t i = 0; i < d; ++i) x[i] = rows[i][d] / rows[i][i];
    return x;
}

data::RegressionSpec regression_spec(const Json& spec) {
    return data::RegressionSpec::section().read(spec);
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return std::sqrt(sum);
}

}  // namespace

TEST_CASE("shapes has the requested sizes and ten classes") {
    const auto sets = shapes(R"("train": 500, "test": 60)");
    CHECK(sets.train->size() == 500);
    CHECK(sets.test->size() == 60);
    CHECK(sets.train->shape() == std::vector<int64_t>{3, 32, 32});
    CHECK(sets.train->classes() == 10);
    CHECK(sets.digests.size() == 2);
    std::vector<int> counts(10);
    for (int64_t k = 0; k < 500; ++k) ++counts.at(sets.train->label(k));
    for (const int count : counts) CHECK(std::abs(count - 50) < 35);  // Five standard deviations.
}

TEST_CASE("a shape depends on seed, split and number only") {
    const auto few = shapes(R"("train": 20, "test": 5)"),
               many = shapes(R"("train": 40, "test": 9)");
    CHECK(input_of(*few.train, 19) == input_of(*many.train, 19));
    CHECK(input_of(*few.test, 4) == input_of(*many.test, 4));
    CHECK(few.train->label(19) == many.train->label(19));
    CHECK(few.digests != many.digests);
    CHECK(few.digests == shapes(R"("train": 20, "test": 5)").digests);
    CHECK(input_of(*few.train, 0) != input_of(*few.test, 0));
    CHECK(input_of(*few.train, 0) != input_of(*few.train, 1));
    CHECK(input_of(*few.train, 0) != input_of(*shapes(R"("train": 20, "test": 5)", 2).train, 0));
}

TEST_CASE("the built-in constants normalise shapes of the default difficulty") {
    const auto sets = shapes(R"("train": 2000, "test": 1)");
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < 2000; ++k) {
        for (const double value : input_of(*sets.train, k)) {
            sum += value;
            squares += value * value;
        }
    }
    const double mean = sum / (2000.0 * 3072), variance = squares / (2000.0 * 3072) - mean * mean;
    CHECK(std::abs(mean) < 0.03);
    CHECK(std::abs(std::sqrt(variance) - 1) < 0.03);
}

TEST_CASE("images of a class are all equal at difficulty 0 and all different at 1") {
    const auto equal_pairs = [](const std::string& difficulty) {
        const auto sets = shapes(R"("train": 60, "test": 1, "difficulty": )" + difficulty);
        int equal = 0, pairs = 0;
        for (int64_t a = 0; a < 60; ++a) {
            for (int64_t b = a + 1; b < 60; ++b) {
                if (sets.train->label(a) != sets.train->label(b)) continue;
                ++pairs;
                equal += input_of(*sets.train, a) == input_of(*sets.train, b);
            }
        }
        return std::pair{equal, pairs};
    };
    const auto [easy, easy_pairs] = equal_pairs("0");
    CHECK(easy_pairs > 50);
    CHECK(easy == easy_pairs);
    CHECK(equal_pairs("1").first == 0);
}

TEST_CASE("figures fit into a circle of radius 1.2, and no two are equal") {
    for (int64_t label = 0; label < data::kShapeClasses; ++label) {
        int inside = 0;
        for (float y = -2; y <= 2; y += 0.05F) {
            for (float x = -2; x <= 2; x += 0.05F) {
                const bool in = data::figure_distance(label, x, y) < 0;
                inside += in;
                if (in) CHECK(std::hypot(x, y) < 1.2F);
            }
        }
        CHECK(inside > 200);  // The unit disc has about 1250 points.
        for (int64_t other = 0; other < label; ++other) {
            int different = 0;
            for (float y = -1; y <= 1; y += 0.05F) {
                for (float x = -1; x <= 1; x += 0.05F) {
                    different += (data::figure_distance(label, x, y) < 0) !=
                                 (data::figure_distance(other, x, y) < 0);
                }
            }
            CHECK(different > 100);
        }
    }
}

TEST_CASE("the least-squares solution of each replica is its own optimum") {
    const Json spec = data_spec(R"({"type": "regression", "samples": 30, "dimension": 6,
        "heterogeneity": 2, "noise": 0, "partition": "contiguous"})");
    const data::DataContext context = {3, 11};
    const auto sets = data::load_data(spec, context);
    REQUIRE(sets.train->size() == 90);
    CHECK(sets.train->classes() == 0);
    const auto partition =
        base::find_entry(data::partition_table(), "contiguous")->make({}, *sets.train, context);
    const auto common = data::regression_optimum(regression_spec(spec), 11, -1);
    for (int64_t i = 0; i < 3; ++i) {
        CHECK(partition->epoch(i, 0).front() == 30 * i);
        CHECK(partition->size(i) == 30);
        const auto own = data::regression_optimum(regression_spec(spec), 11, i);
        CHECK(distance(least_squares(*sets.train, 30 * i, 30), own) < 1e-9);
        CHECK(distance(own, common) > 1);
    }
    CHECK(distance(least_squares(*sets.test, 0, sets.test->size()), common) < 1e-9);
}

TEST_CASE("with heterogeneity 0 all replicas have one optimum, and noise moves it only a little") {
    const Json spec = data_spec(R"({"type": "regression", "samples": 400, "dimension": 4,
        "heterogeneity": 0, "noise": 0.1})");
    const auto sets = data::load_data(spec, {2, 3});
    const auto common = data::regression_optimum(regression_spec(spec), 3, -1);
    CHECK(data::regression_optimum(regression_spec(spec), 3, 1) == common);
    const double off = distance(least_squares(*sets.train, 0, 400), common);
    CHECK(off > 0);
    CHECK(off < 0.1);  // Expected: 0.1 sqrt(trace(C^-1) / 400) = 0.022.
}

TEST_CASE("regression data of a replica do not depend on the number of replicas") {
    const Json spec = data_spec(R"({"type": "regression", "samples": 5})");
    const auto two = data::load_data(spec, {2, 3}), four = data::load_data(spec, {4, 3});
    CHECK(input_of(*two.train, 9) == input_of(*four.train, 9));
    CHECK(two.train->target(9) == four.train->target(9));
}

TEST_CASE("the variances of the features fall from 1 to 1 / condition") {
    const Json spec = data_spec(R"({"type": "regression", "samples": 4000, "dimension": 3,
        "condition": 100})");
    const auto sets = data::load_data(spec, {1, 3});
    std::vector<double> variance(3);
    for (int64_t k = 0; k < 4000; ++k) {
        const auto a = input_of(*sets.train, k);
        for (int f = 0; f < 3; ++f) variance[f] += a[f] * a[f] / 4000;
    }
    CHECK(variance[0] == Catch::Approx(1).epsilon(0.1));
    CHECK(variance[1] == Catch::Approx(0.1).epsilon(0.1));
    CHECK(variance[2] == Catch::Approx(0.01).epsilon(0.1));
}
