// Traffic between nodes and placements.

#include <algorithm>
#include <numeric>

#include "dense.hpp"
#include "graphs/matrix/matrix.hpp"
#include "graphs/placement.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/schedules/sequence.hpp"

using namespace dbench::graphs;
using namespace dbench::graphs::testing;

namespace {

bool is_permutation(Slots placement) {
    std::sort(placement.begin(), placement.end());
    for (size_t i = 0; i < placement.size(); ++i) {
        if (placement[i] != static_cast<int>(i)) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("traffic of a ring is counted link by link", "[graphs]") {
    const auto ring = make("ring", 12);
    const auto linear = traffic(*ring, 4, linear_placement(12));
    CHECK(linear.share == Approx(6.0 / 24));  // three cuts between nodes, both directions
    CHECK(linear.worst_node == 2);
    const auto spread = traffic(*ring, 4, node_major_placement(12, 4));
    CHECK(spread.share == 1);
    CHECK(spread.worst_node == 8);
    CHECK(traffic(*ring, 12, linear_placement(12)).share == 0);
    CHECK(traffic(*ring, 1, linear_placement(12)).share == 1);
}

TEST_CASE("an all-reduce runs around a ring", "[graphs]") {
    const auto complete = make("complete", 8);
    const auto t = traffic(*complete, 4, linear_placement(8));
    CHECK(t.share == Approx(2.0 / 8));
    CHECK(t.worst_node == Approx(2 * 7 / 8.0));
    const auto aer = make(R"({"type":"aer","gpus_per_node":4})", 16);
    CHECK(traffic(*aer, 4, linear_placement(16)).share < 0.3);
}

TEST_CASE("the optimiser never increases the traffic between nodes and improves a scrambled ring",
          "[graphs]") {
    for (const auto* type : {"ring", "torus", "exponential", "one_peer_exponential", "star",
                             "base_k", "random_regular", "complete", "random_matching"}) {
        for (const int n : {7, 24, 48}) {
            for (const int gpus : {1, 4, 6, 64}) {
                const auto schedule = make(type, n);
                const auto best = optimised_placement(*schedule, gpus, 1);
                INFO(type << ", n = " << n << ", " << gpus << " per node");
                CHECK(is_permutation(best));
                CHECK(is_permutation(node_major_placement(n, gpus)));
                CHECK(is_permutation(random_placement(n, 3)));
                CHECK(traffic(*schedule, gpus, best).share <=
                      traffic(*schedule, gpus, linear_placement(n)).share + 1e-12);
            }
        }
    }
    // Matchings of i with i + n/2 cross nodes if replicas are placed consecutively; another
    // placement avoids that.
    const auto pairs = make(R"({"type":"one_peer_exponential"})", 16);
    CHECK(traffic(*pairs, 4, optimised_placement(*pairs, 4, 1)).share <=
          traffic(*pairs, 4, linear_placement(16)).share);
}

TEST_CASE("relabelled replicas have the same spectrum", "[graphs]") {
    const int n = 24;
    const Slots name = random_placement(n, 5);
    for (const auto* type : {"ring", "exponential", "star", "erdos_renyi", "base_k",
                             "one_peer_exponential", "tree", "d_equistatic"}) {
        const auto graph = make(type, n);
        std::vector<MatrixPtr> relabelled;
        for (int64_t t = 0; t < graph->period(); ++t) {
            std::vector<MatrixEntry> entries;
            for (int i = 0; i < n; ++i) {
                for (const Link& link : graph->in(graph->at(t), i)) {
                    entries.push_back({name[i], name[link.peer], link.weight});
                }
            }
            relabelled.push_back(explicit_matrix(n, std::move(entries)));
        }
        const Certificate a = certify(*graph, type);
        const Certificate b = certify(*cyclic_schedule(relabelled), type);
        CHECK(*a.rho == Approx(*b.rho).margin(1e-9));
        CHECK(*a.rho_period == Approx(*b.rho_period).margin(1e-9));
        CHECK(a.finite_time == b.finite_time);
        CHECK(a.lambda_min.value_or(2) == Approx(b.lambda_min.value_or(2)).margin(1e-9));
        CHECK(a.effective_neighbours.value_or(-1) == Approx(b.effective_neighbours.value_or(-1)));
    }
}
