// Properties that every graph of the table must have at every n for which it is defined.

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "dense.hpp"
#include "graphs/proof/certificate.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;

namespace {

std::vector<int> sizes() {
    std::vector<int> all;
    for (int n = 1; n <= 256; ++n) all.push_back(n);
    all.push_back(1008);
    return all;
}

// Builds a graph of the table with its defaults; null if the graph is not defined for n.
std::unique_ptr<Schedule> admitted(const GraphEntry& entry, int n) {
    try {
        return make_graph(entry.name, {n, 1});
    } catch (const base::UserError&) {
        return nullptr;
    }
}

// Graphs whose defaults must work at every n.
const std::set<std::string> kAnySize = {"ring",
                                        "one_way_ring",
                                        "path",
                                        "torus",
                                        "grid",
                                        "exponential",
                                        "complete",
                                        "star",
                                        "ring_lattice",
                                        "erdos_renyi",
                                        "random_regular",
                                        "watts_strogatz",
                                        "u_equistatic",
                                        "d_equistatic",
                                        "od_equidyn",
                                        "ou_equidyn",
                                        "tree",
                                        "double_binary_tree",
                                        "one_peer_exponential",
                                        "p_peer_exponential",
                                        "simple_base_k",
                                        "base_k",
                                        "random_matching",
                                        "epidemic",
                                        "random_pairs"};

}  // namespace

TEST_CASE("every generator is doubly stochastic at every n", "[graphs]") {
    for (const auto& entry : graph_table()) {
        for (const int n : sizes()) {
            if (n == 1008 && entry.name == "complete") continue;  // tested below
            // Each needs a hundred eigenvalue problems, so small n suffices.
            if (entry.name == "matcha" && n > 20 && n % 32 != 0) continue;
            const auto schedule = admitted(entry, n);
            INFO(entry.name << ", n = " << n);
            if (!schedule) {
                CHECK(kAnySize.count(entry.name) == 0);
                continue;
            }
            CHECK(schedule->size() == n);
            const int64_t rounds = n > 64 ? 3 : 12;
            for (int64_t t = 0; t < rounds; ++t) {
                if (t > 0 && schedule->period() == 1) break;
                check_round(*schedule, schedule->at(t));
            }
        }
    }
}

TEST_CASE("n = 1 is W = [1] for every graph", "[graphs]") {
    for (const auto& entry : graph_table()) {
        if (entry.name == "file") continue;  // has no defaults
        const auto schedule = admitted(entry, 1);
        INFO(entry.name);
        REQUIRE(schedule);
        for (int64_t t = 0; t < 5; ++t) {
            const auto row = schedule->in(schedule->at(t), 0);
            REQUIRE(row.size() == 1);
            CHECK(row[0].peer == 0);
            CHECK(row[0].weight == 1.0);
            CHECK(schedule->groups(schedule->at(t)).empty());
        }
        const auto certificate = certify(*schedule, entry.name);
        CHECK(certificate.connected);
        CHECK(certificate.rho == 0.0);
    }
}

TEST_CASE("two copies of a schedule agree, and other seeds differ if it is random", "[graphs]") {
    for (const auto& entry : graph_table()) {
        const auto a = admitted(entry, 16);
        const auto b = admitted(entry, 16);
        INFO(entry.name);
        if (!a) continue;
        // Request rounds in different orders, as ranks do.
        for (int64_t t = 40; t >= 0; --t) {
            const Round early = b->at(40 - t);
            const Round late = a->at(40 - t);
            CHECK(early.matrix == late.matrix);
            CHECK(dense(*a, late) == dense(*b, early));
        }
    }
    CHECK(dense(*make("erdos_renyi", 24, 1), {0, true}) !=
          dense(*make("erdos_renyi", 24, 2), {0, true}));
}

TEST_CASE("equal matrix ids mean equal matrices, and repeats is correct", "[graphs]") {
    for (const auto& entry : graph_table()) {
        const auto schedule = admitted(entry, 12);
        INFO(entry.name);
        if (!schedule) continue;
        std::map<uint64_t, Eigen::MatrixXd> seen;
        for (int64_t t = 0; t < 60; ++t) {
            const Round round = schedule->at(t);
            const auto w = dense(*schedule, round);
            const auto [at, fresh] = seen.emplace(round.matrix, w);
            if (!fresh) {
                CHECK(round.repeats);
                CHECK(at->second == w);
            }
            if (schedule->period() > 0) {
                CHECK(schedule->at(t + schedule->period()).matrix == round.matrix);
            }
        }
    }
}

TEST_CASE("groups are exactly the blocks equal to J/m", "[graphs]") {
    for (const auto& entry : graph_table()) {
        for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24}) {
            const auto schedule = admitted(entry, n);
            if (!schedule) continue;
            for (int64_t t = 0; t < 6; ++t) {
                const Round round = schedule->at(t);
                const auto w = dense(*schedule, round);
                INFO(entry.name << ", n = " << n << ", t = " << t);
                std::vector<std::vector<int>> expected;
                for (int i = 0; i < n; ++i) {
                    std::vector<int> members;
                    for (int j = 0; j < n; ++j) {
                        if (w(i, j) != 0) members.push_back(j);
                    }
                    const auto m = static_cast<double>(members.size());
                    if (m < 2 || members.front() != i) continue;
                    bool block = true;
                    for (const int a : members) {
                        for (int b = 0; b < n; ++b) {
                            const bool in = std::count(members.begin(), members.end(), b) > 0;
                            block &= std::abs(w(a, b) - (in ? 1 / m : 0)) < 1e-12;
                            block &= std::abs(w(b, a) - (in ? 1 / m : 0)) < 1e-12;
                        }
                    }
                    if (block) expected.push_back(members);
                }
                CHECK(schedule->groups(round) == expected);
            }
        }
    }
    CHECK(make("ring", 3)->groups({0, true}).size() == 1);
    CHECK(make("ring", 2)->groups({0, true}).size() == 1);
    CHECK(make("ring", 4)->groups({0, true}).empty());
    CHECK(make("torus", 4)->groups({0, true}).empty());
    CHECK(make(R"({"type":"ring_lattice","k":6})", 6)->groups({0, true}).size() == 1);
    CHECK(make("complete", 1008)->groups({0, true}).front().size() == 1008);
    CHECK(make(R"({"type":"complete","lazy":0.5})", 5)->groups({0, true}).empty());
}
