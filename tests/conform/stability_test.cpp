// Compares the growth of algorithms on graphs with values computed independently of this program
// (NumPy: eigenvalues of the product over one period).

#include "conform/stability.hpp"

#include <nlohmann/json.hpp>

#include "algorithms/algorithm.hpp"
#include "catch.hpp"

namespace {

using namespace dbench;
using base::Json;
using Catch::Approx;

/// Parses a type's name, or an object or a list of a spec.
Json written(const std::string& text) {
    return text.find_first_of("{[") == 0 ? Json::parse(text) : Json(text);
}

conform::Growth growth(const std::string& algorithm, const std::string& graph, int n) {
    return conform::growth(algorithms::resolve_algorithm(written(algorithm)),
                           *graphs::make_graph(written(graph), {n, 1, {1000, 10}}));
}

struct Known {
    const char* algorithm;
    const char* graph;
    int n;
    double growth;
};

void check_stability(const Known& known, double tolerance) {
    INFO(known.algorithm << " on " << known.graph << ", n = " << known.n);
    const auto found = growth(known.algorithm, known.graph, known.n);
    INFO(found.by);
    REQUIRE(found.disagreement);
    CHECK(*found.disagreement == Approx(known.growth).margin(tolerance));
    CHECK(found.stable() == (known.growth <= 1));
}

}  // namespace

TEST_CASE("growth of algorithms and graphs that diverge and of those that do not") {
    for (const Known& known : {
             Known{"gut", "torus", 16, 1.5},
             {R"({"type": "gut", "mu": 0.3})", "torus", 16, 0.966281},
             {"gut", R"({"type": "torus", "lazy": 0.8})", 16, 0.834116},
             {"gut", "one_peer_exponential", 16, 1.249692},
             {"decentlam", "exponential", 16, 1.252437},
             {"decentlam", "exponential", 8, 1.237497},
             {"decentlam", "one_peer_exponential", 16, 1.196341},
             {"decentlam", "shift_one", 16, 1.365033},
             {"decentlam", "torus", 16, 0.948683},
             {"qg_gutm", "exponential", 16, 1.296140},
             {R"({"type": "qg_gutm", "nesterov": true})", "exponential", 16, 1.190801},
             {"qg_dsgdm", "one_way_ring", 16, 1.053624},
             {"qg_dsgdm", "torus", 16, 0.903467},
             {"d2", "one_peer_hypercube", 16, 1.316074},
             {R"({"type": "d2", "form": "relay"})", "one_peer_hypercube", 16, 1.316074},
             {"d2", "shift_one", 16, 1.414214},
             {"exact_diffusion", "shift_one", 16, 1.248984},
             {"exact_diffusion", "one_peer_hypercube", 16, 0.917004},
             {"diloco", "shift_one", 16, 1.218114},
             {"diloco", "one_way_ring", 16, 1.250577},
             {"diloco", "exponential", 16, 0.974562},
             {"noloco", "one_way_ring", 16, 1.066480},
             {R"({"type": "gasloc", "gamma": 0.1})", "one_way_ring", 16, 0.986281},
         }) {
        check_stability(known, 1e-5);
    }
}

TEST_CASE("the three methods for the growth agree") {
    // With a fraction of 1, `participation` yields the same graph without its closed form. This
    // selects eigenvalues, the product over a period, or, with many replicas, a sample.
    const char* plain = "one_peer_hypercube";
    const char* whole = R"({"type": "participation", "graph": "one_peer_hypercube", "fraction": 1,
                            "policy": "round_robin"})";
    for (const char* algorithm : {"d2", "diloco", "qg_dsgdm"}) {
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
    check_stability({"d2", "random_matching", 16, 1.09}, 0.01);
    check_stability({"d2", R"({"type": "random_matching", "lazy": 0.5})", 16, 0.955}, 0.01);
}

TEST_CASE("a mean that diverges is unstable even if the replicas agree") {
    const auto found = growth(R"({"type": "gasloc", "gamma": 1.2})", "complete", 4);
    CHECK(found.mean == Approx(1.2));
    CHECK(found.stable() == false);
}

TEST_CASE("the largest growth in a list of graphs counts") {
    const auto found =
        growth("gut", R"([{"type": "ring", "until": {"iterations": 5}}, "torus"])", 16);
    CHECK(found.graph == "torus");
    CHECK(*found.disagreement == Approx(1.5));
}

TEST_CASE("large graphs have a growth too, and every algorithm has a result or a reason") {
    CHECK(*growth("gut", "ring", 1 << 16).disagreement <= 1);
    CHECK(growth("d2", "random_matching", 1 << 18).by.starts_with("not"));
    for (const auto& row : algorithms::algorithm_table()) {
        if (row.traits.graph == algorithms::GraphNeed::none) continue;
        INFO(row.name);
        const auto found = growth(row.name, R"({"type": "path", "lazy": 0.5})", 7);
        CHECK(found.disagreement.has_value() != found.by.starts_with("not computed"));
        CHECK(found.stable().value_or(true));
    }
}
