// Compares time-varying graphs with their definitions.

#include <numeric>
#include <set>

#include "base/error.hpp"
#include "dense.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/types/base_graph.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;
using Eigen::MatrixXd;

namespace {

MatrixXd product_sequences(const Schedule& schedule, int64_t rounds) {
    MatrixXd all = MatrixXd::Identity(schedule.size(), schedule.size());
    for (int64_t t = 0; t < rounds; ++t) all = dense(schedule, schedule.at(t)) * all;
    return all;
}

std::string with_k(const std::string& type, int k) {
    return R"({"type":")" + type + R"(","k":)" + std::to_string(k) + "}";
}

// Compares a Monte Carlo estimate of E[W'W] with the schedule's rho_expected.
void check_expectation(const Schedule& schedule, int64_t draws, double margin) {
    const int n = schedule.size();
    MatrixXd sum = MatrixXd::Zero(n, n);
    for (int64_t t = 0; t < draws; ++t) {
        const auto w = dense(schedule, schedule.at(t));
        sum += w.transpose() * w;
    }
    const double seen = norm2(sum / static_cast<double>(draws) - average(n));
    const auto c = certify(schedule, "");
    CHECK(c.rho_expected.value() * c.rho_expected.value() ==
          Approx(seen).margin(margin).epsilon(0));
    CHECK_FALSE(c.period);
    CHECK_FALSE(c.finite_time);
    CHECK(c.connected);
}

}  // namespace

TEST_CASE("one-peer hypercube is exact after d rounds and symmetric", "[graphs]") {
    for (int d = 1; d <= 6; ++d) {
        const int n = 1 << d;
        const auto schedule = make("one_peer_hypercube", n);
        for (int64_t t = 0; t < 2 * d; ++t) {
            for (int i = 0; i < n; ++i) {
                const auto row = schedule->in(schedule->at(t), i);
                REQUIRE(row.size() == 2);
                CHECK((row[0].peer ^ row[1].peer) == 1 << (t % d));
            }
        }
        CHECK(distance(product_sequences(*schedule, d), average(n)) < 1e-15);
        CHECK(certify(*schedule, "").finite_time == d);
        CHECK(certify(*schedule, "").symmetric);
        CHECK(schedule->groups(schedule->at(0)).size() == static_cast<size_t>(n / 2));
    }
    CHECK_THROWS_WITH(make("one_peer_hypercube", 100),
                      Catch::Matchers::ContainsSubstring("64 and 128"));
}

TEST_CASE("p-peer exponential uses integer powers and loses no round", "[graphs]") {
    for (const int p : {1, 2, 3, 9}) {
        const auto spec = R"({"type":"p_peer_exponential","p":)" + std::to_string(p) + "}";
        for (const int n : {2, 3, 9, 10, 27, 81, 100, 101, 243, 244, 1000, 1001}) {
            int64_t rounds = 0;
            for (int64_t power = 1; power < n; power *= p + 1) ++rounds;
            const auto schedule = make(spec, n);
            INFO(spec << ", n = " << n);
            REQUIRE(schedule->period() == rounds);
            int64_t power = 1;
            for (int64_t t = 0; t < rounds; ++t, power *= p + 1) {
                std::set<int64_t> expected{0};
                for (int64_t j = 1; j <= p; ++j) expected.insert(j * power % n);
                std::set<int64_t> seen;
                for (const Link& link : schedule->out(schedule->at(t), 0)) seen.insert(link.peer);
                CHECK(seen == expected);
            }
        }
        const int n = (p + 1) * (p + 1);
        CHECK(certify(*make(spec, n), "").finite_time == 2);
    }
}

TEST_CASE("alternating_ring and shift_one match their definitions", "[graphs]") {
    for (const int n : {2, 4, 6, 12}) {
        const auto ring = make("alternating_ring", n);
        const auto shift = make("shift_one", n);
        for (int64_t t = 0; t < 2 * n; ++t) {
            MatrixXd r = MatrixXd::Identity(n, n) / 2;
            MatrixXd s = r;
            for (int i = 0; i < n; i += 2) {
                const int a = static_cast<int>((i + t % 2) % n);
                r(a, (a + 1) % n) = r((a + 1) % n, a) = 0.5;
            }
            for (int i = 0; i < n / 2; ++i) {
                const int j = static_cast<int>((t + i) % (n / 2)) + n / 2;
                s(i, j) = s(j, i) = 0.5;
            }
            INFO("n = " << n << ", t = " << t);
            CHECK(dense(*ring, ring->at(t)) == r);
            CHECK(dense(*shift, shift->at(t)) == s);
        }
        CHECK(certify(*ring, "").connected);
        CHECK(certify(*shift, "").connected);
    }
    CHECK_THROWS_WITH(make("shift_one", 7), Catch::Matchers::ContainsSubstring("6 and 8"));
    CHECK_THROWS_AS(make("alternating_ring", 9), base::UserError);
}

TEST_CASE("Base-(k+1) has the golden number of rounds and is exact", "[graphs]") {
    struct Row {
        int n;
        std::vector<int> rounds;  // k = 1, 2, 3, 5, 6
    };
    const std::vector<Row> golden = {{8, {3, 3, 2, 2, 2}},      {12, {5, 3, 2, 2, 2}},
                                     {24, {6, 4, 3, 2, 2}},     {48, {7, 5, 3, 3, 3}},
                                     {64, {6, 6, 3, 3, 3}},     {96, {8, 6, 4, 3, 3}},
                                     {100, {11, 8, 6, 3, 3}},   {768, {11, 9, 5, 5, 5}},
                                     {1000, {16, 12, 9, 5, 5}}, {1008, {15, 10, 7, 6, 4}}};
    const std::vector<int> degrees = {1, 2, 3, 5, 6};
    for (const auto& [n, rounds] : golden) {
        for (size_t c = 0; c < degrees.size(); ++c) {
            INFO("n = " << n << ", k = " << degrees[c]);
            CHECK(base_graph(n, degrees[c]).size() == static_cast<size_t>(rounds[c]));
        }
    }
    for (const int n : {768, 1008}) {
        for (const int k : {1, 6}) {
            const auto schedule = make(with_k("base_k", k), n);
            const auto c = certify(*schedule, "");
            INFO("n = " << n << ", k = " << k);
            CHECK(c.finite_time == c.period);
            CHECK(c.rho_period == 0.0);
            CHECK(c.degree_max <= k);
        }
    }
    CHECK(certify(*make(with_k("base_k", 6), 1008), "").finite_time == 4);
}

TEST_CASE("the base graphs are exact at every n, within the promised rounds and degree",
          "[graphs]") {
    for (int n = 2; n <= 130; ++n) {
        for (const int k : {1, 2, 3, 4, 6}) {
            INFO("n = " << n << ", k = " << k);
            for (const auto* type : {"simple_base_k", "base_k"}) {
                const auto schedule = make(with_k(type, k), n);
                const double bound = 2 * std::log(n) / std::log(k + 1) + 2;
                CHECK(static_cast<double>(schedule->period()) <= bound + 1e-9);
                CHECK(distance(product_sequences(*schedule, schedule->period()), average(n)) <
                      1e-13);
                for (int64_t t = 0; t < schedule->period(); ++t) {
                    for (int i = 0; i < n; ++i) {
                        const auto row = schedule->in(schedule->at(t), i);
                        if (row.size() > static_cast<size_t>(k + 1)) FAIL("degree above k");
                    }
                }
            }
            if (smooth(n, k)) {
                const auto schedule = make(with_k("hyper_hypercube", k), n);
                CHECK(distance(product_sequences(*schedule, schedule->period()), average(n)) <
                      1e-14);
                size_t grouped = 0;
                for (const auto& group : schedule->groups(schedule->at(0))) grouped += group.size();
                CHECK(grouped == static_cast<size_t>(n));  // every round consists of all-reduces
            } else {
                CHECK_THROWS_AS(make(with_k("hyper_hypercube", k), n), base::UserError);
            }
        }
    }
    CHECK_THROWS_WITH(make(with_k("hyper_hypercube", 2), 10),
                      Catch::Matchers::ContainsSubstring("9 and 12"));
}

TEST_CASE("the hyper-hypercube has the fewest factors, not the greedy ones", "[graphs]") {
    std::vector<int> nodes(216);
    std::iota(nodes.begin(), nodes.end(), 0);
    CHECK(hyper_hypercube(nodes, 7).size() == 3);  // 6*6*6; taking 8 first needs 8*3*3*3
}

TEST_CASE("random sequences contract as expected", "[graphs]") {
    check_expectation(*make("random_matching", 8), 4000, 0.02);
    check_expectation(*make("random_matching", 7), 4000, 0.02);
    check_expectation(*make(R"({"type":"random_matching","lazy":0.5})", 8), 4000, 0.02);
    check_expectation(*make(R"({"type":"random_pairs","pairs":2})", 9), 4000, 0.02);
    check_expectation(*make(R"({"type":"epidemic","degree":3})", 10), 4000, 0.02);
    check_expectation(*make(R"({"type":"od_equidyn","degree":6})", 12), 4000, 0.04);
}

TEST_CASE("matchings and peers are drawn uniformly", "[graphs]") {
    const int n = 8;
    const int draws = 7000;
    for (const auto* type : {"random_matching", "epidemic"}) {
        const auto schedule = make(type, n);
        std::vector<double> count(n, 0);
        double total = 0;
        for (int64_t t = 0; t < draws; ++t) {
            for (const Link& link : schedule->out(schedule->at(t), 3)) {
                if (link.peer == 3) continue;
                ++count[link.peer];
                ++total;
            }
        }
        double chi = 0;
        for (int j = 0; j < n; ++j) {
            if (j != 3) chi += std::pow(count[j] - total / 7, 2) / (total / 7);
        }
        INFO(type);
        CHECK(chi < 27.9);  // 6 degrees of freedom, one in ten thousand
    }
}

TEST_CASE("OU-EquiDyn uses pairs at one offset, with weights (n-1)/n before eta", "[graphs]") {
    for (const int n : {2, 7, 12, 31}) {
        const auto schedule = make(R"({"type":"ou_equidyn","eta":1})", n, 3);
        bool full = false;
        for (int64_t t = 0; t < 30; ++t) {
            std::set<int> offsets;
            int idle = 0;
            for (int i = 0; i < n; ++i) {
                const auto row = schedule->in(schedule->at(t), i);
                idle += row.size() == 1 ? 1 : 0;
                for (const Link& link : row) {
                    if (link.peer == i) continue;
                    CHECK(link.weight == Approx((n - 1.0) / n));
                    const int o = std::abs(link.peer - i);
                    offsets.insert(std::min(o, n - o));
                }
            }
            INFO("n = " << n << ", t = " << t);
            CHECK(offsets.size() == 1);
            full |= idle <= 1;
            CHECK(idle <= n / 2 + 1);
        }
        CHECK(full);
    }
}

TEST_CASE("double binary tree: in the order of a heap, i exchanges with i / 2", "[graphs]") {
    const auto schedule = make(R"({"type": "double_binary_tree", "order": "heap"})", 8);
    const auto peers = [&](uint64_t round, int i) {
        std::vector<int> out;
        for (const Link& link : schedule->in({round, true}, i)) {
            if (link.peer != i) out.push_back(link.peer);
        }
        return out;
    };
    CHECK(peers(0, 0) == std::vector{1});
    CHECK(peers(0, 3) == std::vector{1, 6, 7});
    CHECK(peers(0, 7) == std::vector{3});
    CHECK(peers(1, 7) == std::vector{6});
    CHECK(peers(1, 4) == std::vector{0, 1, 6});
    CHECK(is_tree(*schedule));
    CHECK(is_tree(*make("double_binary_tree", 9)));
    CHECK_FALSE(is_tree(*make("one_peer_exponential", 8)));
    CHECK_FALSE(is_tree(*make("random_matching", 8)));
}

TEST_CASE("double binary tree: the leaves of one tree are inner nodes of the other", "[graphs]") {
    for (int n = 2; n <= 70; ++n) {
        const auto schedule = make("double_binary_tree", n);
        INFO("n = " << n);
        REQUIRE(schedule->period() == 2);
        int leaves_in_both = 0;
        for (int i = 0; i < n; ++i) {
            const auto a = schedule->in({0, true}, i).size();
            const auto b = schedule->in({1, true}, i).size();
            CHECK((a <= 4 && b <= 4));
            leaves_in_both += a == 2 && b == 2 ? 1 : 0;
        }
        for (uint64_t t = 0; t < 2; ++t) {
            size_t links = 0;
            for (int i = 0; i < n; ++i) links += schedule->in({t, true}, i).size() - 1;
            CHECK(links == 2 * static_cast<size_t>(n - 1));
        }
        CHECK(certify(*schedule, "").connected);
        if (n > 3) CHECK(leaves_in_both <= 2);
    }
}

TEST_CASE("MATCHA stays within its budget and contracts as computed", "[graphs]") {
    for (const auto* graph : {"torus", "star", "erdos_renyi"}) {
        const int n = 12;
        const auto spec = R"({"type":"matcha","budget":0.5,"graph":")" + std::string(graph) + "\"}";
        const auto schedule = make(spec, n);
        const auto whole = dense(graph, n);
        INFO(graph);
        for (int64_t t = 0; t < 50; ++t) {
            check_round(*schedule, schedule->at(t));
            const auto w = dense(*schedule, schedule->at(t));
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j < n; ++j) {
                    if (whole(i, j) == 0) CHECK(w(i, j) == 0);
                }
            }
        }
        check_expectation(*schedule, 6000, 0.03);
    }
    // With the whole budget, the result is the graph itself with its best constant weight.
    const auto all = make(R"({"type":"matcha","budget":1,"graph":"star"})", 8);
    CHECK(dense(*all, all->at(0))
              .isApprox(dense(R"({"type":"star","weights":"laplacian"})", 8), 1e-6));
    CHECK_THROWS_WITH(make(R"({"type":"matcha","graph":"exponential"})", 8),
                      Catch::Matchers::ContainsSubstring("/graph/graph"));
}
