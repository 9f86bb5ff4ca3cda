// Lists of graphs, and graphs inside other graphs.

#include <algorithm>
#include <cmath>

#include "staged.hpp"

using namespace dbench::graphs;
using namespace dbench::graphs::testing;

TEST_CASE("a list changes from graph to graph, each starting from its own round 0") {
    const auto list = staged(R"([{"type": "ring_lattice", "k": 4, "until": {"epochs": 3}},
                                 {"type": "one_peer_exponential", "until": {"iterations": 40}},
                                 "complete"])",
                             16);
    CHECK(degrees(*list) == steps({{0, 4}, {30, 1}, {40, 15}}));
    CHECK(degree(*list, 1000000) == 15);
    CHECK(list->at(0).matrix == list->at(29).matrix);
    for (int64_t t = 30; t < 40; ++t) {
        CHECK(list->in(list->at(t), 0)[1].peer == 16 - (1 << ((t - 30) % 4)));
    }
    CHECK(list->groups(list->at(40)).size() == 1);
}

TEST_CASE("an invalid list is refused with a reason") {
    for (const auto& [list, said] :
         {std::pair{"[]", "empty list"},
          {R"(["ring", "star"])", R"(/graph/0: has no "until")"},
          {R"([{"type": "ring", "until": {"epochs": 1}}])", "/graph/0/until"},
          {R"([{"type": "ring", "until": {"epochs": 2}},
               {"type": "torus", "until": {"epochs": 1}}, "star"])",
           "/graph/1/until: iteration 10 is not after"},
          {R"([{"type": "ring", "until": {"days": 2}}, "star"])", "until"}}) {
        CHECK_THAT(failure(list, 4), ContainsSubstring(said));
    }
}

TEST_CASE("a list includes the plan of a graph that changes during the run") {
    const std::string ada = R"([{"type": "ada", "k0": 4, "gamma_k": 2, "until": {"epochs": 4}},)";
    const auto both = staged(ada + R"("ring"])", 16);
    CHECK(degrees(*both) == steps({{0, 4}, {10, 2}}));
    CHECK(both->stages().size() == 3);
    CHECK(both->stages()[1].reason == "epoch 1");
    const auto three = staged(ada + R"({"type": "complete", "until": {"epochs": 5}}, "ring"])", 16);
    CHECK(degrees(*three) == steps({{0, 4}, {10, 2}, {40, 15}, {50, 2}}));
    CHECK(three->stages().size() == 4);
    // The degree follows the epochs of the run, not the start of the entry: k(3) = 5.
    const auto late = staged(R"([{"type": "star", "weights": "metropolis", "until": {"epochs": 3}},
                                 {"type": "ada", "k0": 8, "gamma_k": 1}])",
                             16);
    CHECK(degree(*late, 30) == 6);
    CHECK(degree(*late, 60) == 2);
    CHECK(late->stages()[1].first == 30);
}

TEST_CASE("a graph that decides during the run cannot be part of another graph") {
    for (const std::string graph :
         {R"({"type": "ada_variance")", R"({"type": "consensus_control", "by": "degree")",
          R"({"type": "consensus_control")", R"({"type": "participation", "policy": "slowest")"}) {
        for (const auto& [before, after, said] :
             {std::tuple{"[", R"(, "until": {"epochs": 1}}, "ring"])",
                         "/graph/0: decides during the run"},
              {R"({"type": "hierarchical", "gpus_per_node": 2, "outer": )", "}}",
               "/graph/outer: decides"},
              {R"({"type": "participation", "graph": )", "}}", "/graph/graph: decides"},
              {R"({"type": "budget", "dense": )", "}}", "/graph/dense: "}}) {
            CHECK_THAT(failure(before + graph + after), ContainsSubstring(said));
        }
    }
}

TEST_CASE("a graph that plans over the whole run cannot be part of another graph") {
    for (const auto& [graph, said] :
         {std::pair{R"([{"type": "budget", "dense": {"type": "ring_lattice", "k": 6},
                         "until": {"epochs": 1}}, "ring"])",
                    "/graph/0: spends a total over the whole run"},
          {R"({"type": "budget", "dense": {"type": "ada", "k0": 8}})",
           "/graph/dense: ada sends more at some times than at others"},
          {R"({"type": "participation", "policy": "slowest", "graph": "ada"})",
           "/graph/graph: changes from graph to graph"}}) {
        CHECK_THAT(failure(graph), ContainsSubstring(said));
    }
}

TEST_CASE("a graph inside another has its defaults, and its type is part of a label") {
    const base::Json plain = {{"type", "participation"}};
    base::Json torus = plain, ring = plain;
    torus["graph"] = "torus";
    ring["graph"] = {{"type", "ring"}};
    CHECK(resolve_graph(torus).at("graph") == resolve_graph("torus"));
    CHECK(graph_label(resolve_graph(torus)) == "participation graph=torus");
    CHECK(graph_label(resolve_graph(ring)) == "participation");
    const auto list = staged(R"([{"type": "participation", "graph": {"type": "torus", "lazy": 0.5},
                                  "until": {"epochs": 1}}, "participation"])",
                             16);
    CHECK(list->name(0) == "participation graph=torus");
    CHECK(list->name(1) == "participation");
    CHECK_THAT(failure(R"({"type": "consensus_control", "graph": ["ring"]})"),
               ContainsSubstring("/graph/graph: "));
}

TEST_CASE("a level of a hierarchy changes at the run's epochs") {
    const auto outer = staged(R"({"type": "hierarchical", "gpus_per_node": 2,
                                  "outer": {"type": "ada", "k0": 6, "gamma_k": 1}})",
                              16);
    for (int64_t t = 0; t < 100; ++t) {
        const double k = std::max(6 - double(t / 10), 2.0);
        CHECK(degree(*outer, t) == 2 * (2 * std::ceil(k / 2) + 1) - 1);
    }
    CHECK(outer->at(0).matrix == outer->at(9).matrix);
    CHECK(outer->name(0) == "ring_lattice k=6 (x) complete");
    const auto both = staged(R"({"type": "hierarchical", "gpus_per_node": 4,
                                 "inner": [{"type": "complete", "until": {"epochs": 3}}, "ring"],
                                 "outer": [{"type": "complete", "until": {"epochs": 5}}, "ring"]})",
                             16);
    CHECK(degrees(*both) == steps({{0, 15}, {30, 11}, {50, 8}}));
    const auto thinned = made(R"({"type": "participation", "fraction": 1,
                                  "graph": {"type": "ada", "k0": 6, "gamma_k": 1}})",
                              16);
    CHECK(degrees(*thinned) == steps({{0, 6}, {20, 4}, {40, 2}}));
}
