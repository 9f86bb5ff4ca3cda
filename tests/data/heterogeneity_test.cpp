// The partitions dirichlet and by_label, and the measure of heterogeneity.

#include "data/heterogeneity.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "catch.hpp"
#include "data/numbered_set.hpp"
#include "data/partitions/dirichlet.hpp"
#include "data/support.hpp"

using namespace dbench;
using base::Json;
using test::NumberedSet;
using test::partition_of;
using test::refusal;
using test::ten_labels;
using Samples = std::vector<int64_t>;

namespace {

Json dirichlet(double alpha) { return {{"type", "dirichlet"}, {"alpha", alpha}}; }
Json by_label(int64_t labels) { return {{"type", "by_label"}, {"labels_per_replica", labels}}; }

// counts[i][c]: number of samples of label c of replica i.
std::vector<std::vector<double>> counts(const Json& spec, const NumberedSet& set, int64_t n,
                                        uint64_t seed = 1) {
    const auto partition = partition_of(spec, set, n, seed);
    std::vector<std::vector<double>> out(n, std::vector<double>(set.classes()));
    for (int64_t i = 0; i < n; ++i) {
        for (const int64_t sample : partition->epoch(i, 0)) ++out[i][set.label(sample)];
    }
    return out;
}

data::Heterogeneity measured(const Json& spec, const NumberedSet& set, int64_t n,
                             uint64_t seed = 1) {
    return *data::heterogeneity(set, *partition_of(spec, set, n, seed), n);
}

}  // namespace

TEST_CASE("partitions by label keep the split, change the order, and depend on the seed") {
    const auto set = ten_labels(1003);
    for (const Json& spec : {dirichlet(0.3), by_label(3)}) {
        const auto partition = partition_of(spec, set, 7), again = partition_of(spec, set, 7);
        const auto other = partition_of(spec, set, 7, 2);
        for (const int64_t i : {0, 3, 6}) {
            const Samples first = partition->epoch(i, 0), second = partition->epoch(i, 1);
            const std::set<int64_t> mine(first.begin(), first.end());
            CHECK(partition->size(i) == 143);
            CHECK(first != second);
            CHECK(mine == std::set<int64_t>(second.begin(), second.end()));
            CHECK(first == again->epoch(i, 0));
            const Samples from_other = other->epoch(i, 0);
            CHECK(mine != std::set<int64_t>(from_other.begin(), from_other.end()));
        }
    }
}

TEST_CASE("Dirichlet variates have the mean and variance of the distribution") {
    const std::vector<double> concentration = {0.02, 0.5, 2, 0};
    const double total = 2.52;
    constexpr int kDraws = 20000;
    std::vector<double> sum(4), squares(4);
    for (uint64_t k = 0; k < kDraws; ++k) {
        base::Random random(5, base::Purpose::partition, {k});
        std::vector<double> share = data::log_dirichlet(concentration, random);
        double norm = 0;
        for (double& each : share) norm += each = std::exp(each);
        for (size_t c = 0; c < 4; ++c) {
            sum[c] += share[c] / norm / kDraws;
            squares[c] += share[c] * share[c] / (norm * norm) / kDraws;
        }
    }
    for (size_t c = 0; c < 4; ++c) {
        const double mean = concentration[c] / total;
        const double variance = mean * (1 - mean) / (total + 1);
        CHECK(std::abs(sum[c] - mean) <= 4 * std::sqrt(variance / kDraws));
        // The relative error of a variance depends on the fourth moment, which is large for rare
        // shares.
        CHECK(std::abs(squares[c] - sum[c] * sum[c] - variance) <=
              (c == 0 ? 0.25 : 0.05) * variance);
    }
}

TEST_CASE("dirichlet with a large alpha is like an independent split") {
    // Pearson's statistic of the (replica, label) table, with (n-1)(C-1) degrees of freedom.
    const auto set = ten_labels(20000);
    const auto statistic = [&](const Json& spec) {
        double sum = 0;
        for (const auto& row : counts(spec, set, 20)) {
            for (const double count : row) sum += (count - 100) * (count - 100) / 100;
        }
        return sum;
    };
    const double freedom = 19 * 9, deviation = std::sqrt(2 * freedom);
    CHECK(std::abs(statistic(dirichlet(1e9)) - freedom) < 4 * deviation);
    CHECK(std::abs(statistic("iid") - freedom) < 4 * deviation);
    CHECK(statistic(dirichlet(100)) > freedom + 20 * deviation);
}

TEST_CASE("dirichlet gives fewer labels for a smaller alpha") {
    const auto set = ten_labels(20000);
    double last = 1;
    for (const double alpha : {1e-6, 0.1, 1.0, 10.0, 1000.0}) {
        const auto now = measured(dirichlet(alpha), set, 50);
        CHECK(now.total_variation < last);
        last = now.total_variation;
    }
    // With a tiny alpha, a replica gets only its preferred label, as long as samples of it are
    // left.
    CHECK(measured(dirichlet(1e-6), set, 50).labels_mean < 1.5);
    CHECK(measured(dirichlet(0.1), set, 50).labels_mean < 2.5);
    CHECK(measured(dirichlet(1000), set, 50).labels_min == 10);
    // Shares vary like those of Dirichlet(alpha x 1/10), p (1 - p) / (alpha + 1), plus the variance
    // of the draws, p (1 - p) / 400. Samples that earlier replicas took reduce it a little.
    double sum = 0;
    for (const auto& row : counts(dirichlet(10), set, 50)) {
        for (const double count : row) sum += std::pow(count / 400 - 0.1, 2) / 500;
    }
    CHECK(sum == Catch::Approx(0.09 / 11 + 0.09 / 400).epsilon(0.25));
}

TEST_CASE(
    "dirichlet follows the label shares of the whole set and allows classes without samples") {
    Samples labels(1000, 4);
    std::fill(labels.begin(), labels.begin() + 100, 7);
    const NumberedSet set(labels);
    for (const auto& row : counts(dirichlet(1e9), set, 4)) {
        CHECK(row[4] + row[7] == 250);
        CHECK(std::abs(row[7] - 25) < 4 * std::sqrt(250 * 0.09));
    }
}

TEST_CASE("by_label gives the requested number of labels if the sizes allow it") {
    const auto set = ten_labels(1000);
    for (const int64_t labels : {1, 2, 5, 10}) {
        for (const auto& row : counts(by_label(labels), set, 10)) {
            // Ten replicas and ten labels: no shard extends over two labels.
            CHECK(std::count(row.begin(), row.end(), 100.0 / static_cast<double>(labels)) ==
                  labels);
            CHECK(std::count(row.begin(), row.end(), 0.0) == 10 - labels);
        }
    }
    // Shards that extend over two labels add a label.
    const auto uneven = measured(by_label(2), ten_labels(1003), 16);
    CHECK(uneven.labels_min == 2);
    CHECK(uneven.labels_max <= 4);
    CHECK(uneven.labels_mean <= 2 + 9.0 / 16);  // Nine borders between labels.
    CHECK(measured(by_label(2), set, 1).labels_min == 10);
}

TEST_CASE("by_label assigns the shards of each round anew") {
    // Two of ten replicas share the label of their first shard. Their second shards have different
    // labels in most cases; with one assignment for all rounds they would always be equal.
    const auto set = ten_labels(1000);
    for (const uint64_t seed : {1, 2, 3}) {
        std::set<std::vector<double>> kinds;
        for (const auto& row : counts(by_label(2), set, 10, seed)) kinds.insert(row);
        CHECK(kinds.size() > 5);
    }
}

TEST_CASE("by_label assigns shards at random") {
    const auto set = ten_labels(100);
    constexpr int kSeeds = 500;
    std::vector<double> first(10);
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        const auto mine = counts(by_label(1), set, 10, seed)[3];
        ++first[std::find(mine.begin(), mine.end(), 10) - mine.begin()];
    }
    // Chi-square with 9 degrees of freedom: 27.9 is exceeded once in 1000 cases.
    double statistic = 0;
    for (const double count : first) statistic += std::pow(count - 50, 2) / 50;
    CHECK(statistic < 27.9);
}

TEST_CASE("impossible partitions by label are refused") {
    const auto refused = [](const Json& spec, const data::Dataset& set, int64_t n) {
        return refusal([&] { partition_of(spec, set, n); });
    };
    CHECK(refused(by_label(11), ten_labels(100), 4) ==
          "/data/partition/labels_per_replica: 11 is more than the 10 labels of the training set: "
          "use at most 10");
    CHECK(refused(by_label(4), ten_labels(3), 1).find("the 3 labels") != std::string::npos);
    CHECK(refused(by_label(3), ten_labels(20), 10) ==
          "/data/partition/labels_per_replica: 3 is more than the 2 training samples per replica: "
          "use at most that many, fewer replicas or more data");
    CHECK(refused(by_label(0), ten_labels(100), 4) ==
          "/data/partition/labels_per_replica: 0 is out of range (must be at least 1)");
    CHECK(refused(dirichlet(0), ten_labels(100), 4)
              .starts_with("/data/partition/alpha: 0 is out of range"));
    const NumberedSet real(Samples(20, 0), 0);
    for (const std::string name : {"dirichlet", "by_label"}) {
        CHECK(
            refused(name, real, 4) ==
            "/data/partition: " + name +
                " assigns samples by their labels (this data set has real targets): use shuffled, "
                "contiguous or iid");
    }
}

TEST_CASE("heterogeneity of known cases") {
    const NumberedSet set({0, 0, 1, 1, 2, 2, 2, 2});
    const auto halves = measured("contiguous", set, 2);  // Shares 1/2, 1/2, 0 and 0, 0, 1.
    CHECK(halves.classes == 3);
    CHECK(halves.labels_min == 1);
    CHECK(halves.labels_max == 2);
    CHECK(halves.labels_mean == 1.5);
    CHECK(halves.total_variation == Catch::Approx(0.5));
    const auto whole = measured("contiguous", set, 1);
    CHECK(whole.labels_min == 3);
    CHECK(whole.total_variation == 0);
    const NumberedSet real(Samples(20, 0), 0);
    CHECK_FALSE(data::heterogeneity(real, *partition_of("iid", real, 2), 2));
}
