// Graphs whose degree decreases from epoch to epoch.

#include <algorithm>
#include <cmath>

#include "graphs/proof/certificate.hpp"
#include "staged.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;

TEST_CASE("ada: k(e) = max(k0 - floor(gamma_k e), k_min), rounded up to even") {
    const auto ada = staged(R"({"type": "ada", "k0": 9, "gamma_k": 1.5, "k_min": 3})", 24);
    for (int64_t t = 0; t < 100; ++t) {
        const double k = std::max(9 - std::floor(1.5 * static_cast<double>(t / 10)), 3.0);
        CHECK(degree(*ada, t) == 2 * std::ceil(k / 2));
    }
    CHECK(ada->warnings().empty());
}

TEST_CASE("ada has the published scales and warns if nothing changes") {
    const RunFacts run{{300, 10, 1}, 4};
    const auto small = staged(R"("ada")", 48, run);
    CHECK(degree(*small, 0) == 10);
    REQUIRE(small->warnings().size() == 1);
    CHECK_THAT(small->warnings()[0], ContainsSubstring("in epoch 100;"));
    const auto large = staged(R"("ada")", 1008, run);
    CHECK(degree(*large, 0) == 112);
    CHECK(degree(*large, 290) == 84);
    CHECK(large->stages().size() == 15);
}

TEST_CASE("ada reversed uses the same degrees in reverse, even if the last epoch is incomplete") {
    for (const int64_t iterations : {100, 95, 91, 7}) {
        const RunFacts run{{iterations, 10, 1}, 4};
        const std::string ada = R"({"type": "ada", "k0": 8, "gamma_k": 1)";
        auto plain = degrees(*made(ada + "}", 16, run), iterations);
        const auto reversed = degrees(*made(ada + R"(, "reversed": true})", 16, run), iterations);
        std::reverse(plain.begin(), plain.end());
        CHECK(plain == reversed);
    }
}

TEST_CASE("ada over very many epochs takes as long as over few") {
    const auto ada = staged(R"({"type": "ada", "k0": 10, "k_min": 2, "gamma_k": 1e-8})", 16,
                            {{1'000'000'000, 1, 1}, 4});
    const auto stages = ada->stages();
    REQUIRE(stages.size() == 5);
    CHECK(degree(*ada, 0) == 10);
    for (size_t k = 1; k < stages.size(); ++k) {
        CHECK(degree(*ada, stages[k].first - 1) == double(12 - 2 * k));
        CHECK(degree(*ada, stages[k].first) == double(10 - 2 * k));
    }
    CHECK(degree(*ada, 999'999'999) == 2);
}

TEST_CASE("ada with a tiny gamma_k keeps its degree") {
    const auto ada = staged(R"({"type": "ada", "k0": 10, "k_min": 2, "gamma_k": 1e-300})", 16);
    CHECK(degree(*ada, 0) == 10);
}

TEST_CASE("ada accepts other families") {
    const auto exponential = staged(
        R"({"type": "ada", "k0": 4, "gamma_k": 1, "k_min": 1, "family": "exponential"})", 12);
    for (int64_t e = 0; e < 10; ++e) {
        const auto k = static_cast<size_t>(std::max<int64_t>(4 - e, 1));
        const auto row = exponential->out(exponential->at(10 * e), 0);
        REQUIRE(row.size() == k + 1);
        for (size_t o = 0; o < k; ++o) CHECK(row[o + 1].peer == 1 << o);
    }
    const auto regular =
        made(R"({"type": "ada", "k0": 7, "gamma_k": 1, "family": "random_regular"})", 15);
    CHECK(degree(*regular, 0) == 8);
    CHECK(degree(*regular, 90) == 4);
    const auto base =
        staged(R"({"type": "ada", "k0": 6, "gamma_k": 5, "k_min": 1, "family": "base_k"})", 24);
    for (size_t g = 0; g < base->graphs(); ++g) {
        CHECK(certify(base->graph(g), "").finite_time.has_value());
    }
}

TEST_CASE("every family has its degrees at every n") {
    for (const std::string family : {"ring_lattice", "exponential", "random_regular", "base_k"}) {
        for (const int n : {2, 3, 4, 5, 6, 7, 9, 16, 25}) {
            const auto ladder = staged(
                R"({"type": "ada_variance", "k_min": 1, "k_max": 64, "family": ")" + family + "\"}",
                n, {});
            for (size_t g = 0; g < ladder->graphs(); ++g) {
                const Sums s = sums(ladder->graph(g));
                CHECK((s.rows && s.columns));
                CHECK(certify(ladder->graph(g), "").connected);
            }
        }
    }
}
