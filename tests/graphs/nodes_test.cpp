// Graphs with nodes, and participation.

#include <numeric>

#include "base/error.hpp"
#include "dense.hpp"
#include "graphs/proof/certificate.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;
using Eigen::MatrixXd;

namespace {

MatrixXd product_nodes(const Schedule& schedule, int64_t rounds) {
    MatrixXd all = MatrixXd::Identity(schedule.size(), schedule.size());
    for (int64_t t = 0; t < rounds; ++t) all = dense(schedule, schedule.at(t)) * all;
    return all;
}

std::string aer(int places) {
    return R"({"type":"aer","gpus_per_node":)" + std::to_string(places) + "}";
}

}  // namespace

TEST_CASE("AER is exact after its period and uses the network for half the pairs", "[graphs]") {
    for (const auto& [nodes, places] :
         std::vector<std::pair<int, int>>{{2, 4}, {4, 4}, {8, 4}, {16, 8}, {32, 4}}) {
        const auto schedule = make(aer(places), nodes * places);
        INFO(nodes << " nodes of " << places);
        REQUIRE(schedule->period() == 2 * std::lround(std::log2(nodes)));
        CHECK(distance(product_nodes(*schedule, schedule->period()), average(nodes * places)) <
              1e-14);
        size_t counter = 0;
        for (int64_t r = 0; r < schedule->period() / 2; ++r) {
            std::vector<bool> seen(nodes, false);
            for (int j = 0; j < nodes; ++j) {
                const int k = j ^ (1 << r);
                if (seen[j]) continue;
                seen[j] = seen[k] = true;
                const bool even = counter++ % 2 == 0;
                for (int step = 0; step < 2; ++step) {
                    const Round round = schedule->at(2 * r + step);
                    const bool joint = even == (step == 1);
                    for (const int node : {j, k}) {
                        const auto row = schedule->in(round, node * places);
                        CHECK(row.size() == static_cast<size_t>(joint ? 2 * places : places));
                        CHECK(row.front().peer == (joint ? std::min(j, k) : node) * places);
                        CHECK(row.front().weight == Approx(1.0 / static_cast<double>(row.size())));
                    }
                }
            }
        }
        // Every round consists of all-reduces only.
        size_t grouped = 0;
        for (const auto& group : schedule->groups(schedule->at(1))) grouped += group.size();
        CHECK(grouped == static_cast<size_t>(nodes * places));
    }
}

TEST_CASE("AER works for any number of nodes and replicas per node", "[graphs]") {
    for (const int nodes : {1, 2, 3, 5, 6, 7, 12, 21}) {
        for (const int places : {1, 2, 3, 6}) {
            const int n = nodes * places;
            const auto schedule = make(aer(places), n);
            INFO(nodes << " nodes of " << places);
            CHECK(distance(product_nodes(*schedule, schedule->period()), average(n)) < 1e-13);
            for (int64_t t = 0; t < schedule->period(); ++t)
                check_round(*schedule, schedule->at(t));
        }
    }
    CHECK(certify(*make(aer(6), 1008), "aer").finite_time.has_value());
    CHECK_THROWS_WITH(make(aer(4), 18), Catch::Matchers::ContainsSubstring("16 and 20"));
}

TEST_CASE("hierarchical is the product of its two graphs", "[graphs]") {
    const auto schedule = make(R"({"type":"hierarchical","gpus_per_node":3,"outer":"star"})", 15);
    const auto w = dense(*schedule, {0, true});
    const auto star = dense("star", 5);
    for (int i = 0; i < 15; ++i) {
        for (int j = 0; j < 15; ++j) CHECK(w(i, j) == Approx(star(i / 3, j / 3) / 3));
    }
    CHECK(certify(*schedule, "").rho.value() == Approx(0.8));
    const auto moving = make(R"({"type":"hierarchical","gpus_per_node":2,
        "inner":"one_peer_exponential","outer":{"type":"one_peer_exponential","order":"cyclic"}})",
                             16);
    CHECK(moving->period() == 3);
    CHECK(certify(*moving, "").finite_time == 3);
    const auto drawn =
        make(R"({"type":"hierarchical","gpus_per_node":2,"outer":"random_matching"})", 12);
    CHECK(drawn->period() == 0);
    for (int64_t t = 0; t < 5; ++t) check_round(*drawn, drawn->at(t));
    CHECK_THROWS_WITH(make(R"({"type":"hierarchical","outer":"rong"})", 4),
                      Catch::Matchers::ContainsSubstring("/graph/outer/type"));
}

TEST_CASE("participation keeps idle replicas unchanged and stays doubly stochastic", "[graphs]") {
    for (const auto* policy : {"random", "round_robin"}) {
        for (const int n : {2, 5, 12, 30}) {
            const auto spec =
                R"({"type":"participation","graph":"torus","fraction":0.4,"policy":")" +
                std::string(policy) + "\"}";
            const auto schedule = make(spec, n);
            const auto full = dense("torus", n);
            const auto count = std::max(1L, std::lround(0.4 * n));
            std::vector<int> turns(n, 0);
            for (int64_t t = 0; t < 3 * n; ++t) {
                check_round(*schedule, schedule->at(t));
                const auto w = dense(*schedule, schedule->at(t));
                for (int i = 0; i < n; ++i) {
                    for (int j = 0; j < n; ++j) {
                        if (i != j && w(i, j) != 0) CHECK(w(i, j) == full(i, j));
                    }
                }
                long idle = 0;
                for (int i = 0; i < n; ++i) idle += w(i, i) == 1.0 ? 1 : 0;
                CHECK(idle >= n - count);
            }
        }
    }
    const auto turn =
        make(R"({"type":"participation","graph":"complete","policy":"round_robin"})", 6);
    CHECK(turn->period() == 2);
    CHECK(certify(*turn, "").degree_mean == Approx(1));
    const auto all = make(R"({"type":"participation","graph":"ring","fraction":1})", 9);
    CHECK(dense(*all, all->at(4)) == dense("ring", 9));
    // A directed graph may come later in a list, or in a later round.
    for (const char* graph :
         {R"([{"type":"ring","until":{"iterations":90}},"exponential"])",
          R"({"type":"one_peer_exponential","order":"permuted"})", R"("one_peer_exponential")"}) {
        for (const char* policy : {"random", "round_robin"}) {
            CHECK_THROWS_WITH(make(R"({"type":"participation","graph":)" + std::string(graph) +
                                       R"(,"policy":")" + policy + "\"}",
                                   8),
                              Catch::Matchers::ContainsSubstring("symmetric"));
        }
    }
    CHECK_THROWS_WITH(make(R"({"type":"participation","graph":"exponential"})", 9),
                      Catch::Matchers::ContainsSubstring("/graph/graph"));
}
