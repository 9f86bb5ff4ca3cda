// How algorithms grow on graphs at any learning rate, against figures that were found apart from
// this program (NumPy: eigenvalues of the product over one period).

#include "conform/stability.hpp"

#include <nlohmann/json.hpp>

#include "algorithms/algorithm.hpp"
#include "catch.hpp"

namespace {

using namespace dbench;
using base::Json;
using Catch::Approx;

conform::Growth growth(const char* algorithm, const char* graph, int n) {
    return conform::growth(algorithms::resolve_algorithm(Json::parse(algorithm)),
                           *graphs::make_graph(Json::parse(graph), {n, 1, {1000, 10}}));
}

struct Known {
    const char* algorithm;
    const char* graph;
    int n;
    double growth;
};

void check(const Known& known, double tolerance) {
    INFO(known.algorithm << " on " << known.graph << ", n = " << known.n);
    const auto found = growth(known.algorithm, known.graph, known.n);
    INFO(found.by);
    REQUIRE(found.disagreement);
    CHECK(*found.disagreement == Approx(known.growth).margin(tolerance));
    CHECK(found.stable() == (known.growth <= 1));
}

}  // namespace

TEST_CASE("growth of pairs that diverge, and of pairs that do not") {
    for (const Known& known : {
             Known{R"("gut")", R"("torus")", 16, 1.5},
             {R"({"type": "gut", "mu": 0.3})", R"("torus")", 16, 0.966281},
             {R"("gut")", R"({"type": "torus", "lazy": 0.8})", 16, 0.834116},
             {R"("gut")", R"("one_peer_exponential")", 16, 1.249692},
             {R"("decentlam")", R"("exponential")", 16, 1.252437},
             {R"("decentlam")", R"("exponential")", 8, 1.237497},
             {R"("decentlam")", R"("one_peer_exponential")", 16, 1.196341},
             {R"("decentlam")", R"("shift_one")", 16, 1.365033},
             {R"("decentlam")", R"("torus")", 16, 0.948683},
             {R"("qg_gutm")", R"("exponential")", 16, 1.296140},
             {R"({"type": "qg_gutm", "nesterov": true})", R"("exponential")", 16, 1.190801},
             {R"("qg_dsgdm")", R"("one_way_ring")", 16, 1.053624},
             {R"("qg_dsgdm")", R"("torus")", 16, 0.903467},
             {R"("d2")", R"("one_peer_hypercube")", 16, 1.316074},
             {R"({"type": "d2", "form": "relay"})", R"("one_peer_hypercube")", 16, 1.316074},
             {R"("d2")", R"("shift_one")", 16, 1.414214},
             {R"("exact_diffusion")", R"("shift_one")", 16, 1.248984},
             {R"("exact_diffusion")", R"("one_peer_hypercube")", 16, 0.917004},
             {R"("diloco")", R"("shift_one")", 16, 1.218114},
             {R"("diloco")", R"("one_way_ring")", 16, 1.250577},
             {R"("diloco")", R"("exponential")", 16, 0.974562},
             {R"("noloco")", R"("one_way_ring")", 16, 1.066480},
             {R"({"type": "gasloc", "gamma": 0.1})", R"("one_way_ring")", 16, 0.986281},
         }) {
        check(known, 1e-5);
    }
}

TEST_CASE("the three ways to the growth agree") {
    // What `participation` leaves of a graph with a share of 1 is that graph, without a closed
    // form: eigenvalues, the product over a period, and a sample where replicas are many.
    const char* plain = R"("one_peer_hypercube")";
    const char* whole = R"({"type": "participation", "graph": "one_peer_hypercube", "fraction": 1,
                            "policy": "round_robin"})";
    for (const char* algorithm : {R"("d2")", R"("diloco")", R"("qg_dsgdm")"}) {
        INFO(algorithm);
        const auto closed = growth(algorithm, plain, 16), product = growth(algorithm, whole, 16);
        CHECK(closed.by == "eigenvalues of W");
        CHECK(product.by == "the product over one period");
        CHECK(*product.disagreement == Approx(*closed.disagreement).margin(1e-6));
        const auto many = growth(algorithm, plain, 512), sampled = growth(algorithm, whole, 512);
        CHECK(sampled.by == "a sample of 2000 rounds");
        CHECK(*sampled.disagreement == Approx(*many.disagreement).margin(0.01));
    }
}

TEST_CASE("random sequences are sampled") {
    const auto unstable = growth(R"("d2")", R"("random_matching")", 16);
    CHECK(*unstable.disagreement == Approx(1.09).margin(0.01));
    CHECK(unstable.stable() == false);
    const auto lazy = growth(R"("d2")", R"({"type": "random_matching", "lazy": 0.5})", 16);
    CHECK(*lazy.disagreement == Approx(0.955).margin(0.01));
    CHECK(lazy.stable() == true);
}

TEST_CASE("a mean that runs away is unstable whatever the replicas do") {
    const auto found = growth(R"({"type": "gasloc", "gamma": 1.2})", R"("complete")", 4);
    CHECK(found.mean == Approx(1.2));
    CHECK(found.stable() == false);
}

TEST_CASE("of a list of graphs the one of the largest growth counts") {
    const auto found =
        growth(R"("gut")", R"([{"type": "ring", "until": {"iterations": 5}}, "torus"])", 16);
    CHECK(found.graph == "torus");
    CHECK(*found.disagreement == Approx(1.5));
}

TEST_CASE("large graphs have a growth too, and every row of the table something to say") {
    CHECK(*growth(R"("gut")", R"("ring")", 1 << 16).disagreement <= 1);
    CHECK(growth(R"("d2")", R"({"type": "random_matching"})", 1 << 18).by.starts_with("not"));
    for (const auto& row : algorithms::algorithm_table()) {
        if (row.accepts.graph == algorithms::GraphNeed::none) continue;
        INFO(row.name);
        const base::Json graph{{"type", "path"}, {"lazy", 0.5}};
        const auto found = conform::growth(algorithms::resolve_algorithm(row.name),
                                           *graphs::make_graph(graph, {7, 1}));
        CHECK(found.disagreement.has_value() != found.by.starts_with("not computed"));
        CHECK(found.stable().value_or(true));
    }
}
