// Named graphs that coincide at a given n.

#include "graphs/proof/coincidence.hpp"

#include "dense.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;

namespace {

// Returns the names with which a graph coincides: "=name" if it is the same graph, "~name" if only
// its eigenvalues have the same size.
std::vector<std::string> found(const std::string& spec, int n) {
    const auto json = spec.front() == '{' ? base::parse_json(spec, "test") : base::Json(spec);
    const auto resolved = resolve_graph(json);
    std::vector<std::string> all;
    for (const auto& one : coincidences(*make(spec, n), resolved)) {
        all.push_back((one.same ? "=" : "~") + one.name);
    }
    return all;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("graphs that are one graph at a given n are named", "[graphs]") {
    CHECK(found("torus", 4) == Names{"=ring", "=grid", "~exponential", "=hypercube"});  // 2 x 2
    CHECK(found("exponential", 4) == Names{"~ring", "~torus", "~grid", "~hypercube"});
    CHECK(found("torus", 7) == Names{"=ring"});        // 1 x 7
    CHECK(found("torus", 16) == Names{"=hypercube"});  // 4 x 4
    CHECK(found("hypercube", 8) == Names{"=torus"});   // 2 x 4
    CHECK(found("ring", 3) == Names{"=torus", "=exponential", "=ring_lattice", "=complete"});
    CHECK(found("ring_lattice", 5) == Names{"=complete"});
    CHECK(found(R"({"type":"torus","lazy":0.5})", 4) == Names{"=ring", "=grid", "=hypercube"});
}

TEST_CASE("the five implementations are different graphs from 8 replicas on, if n is not prime",
          "[graphs]") {
    CHECK(found("exponential", 6) == Names{"~torus"});
    for (const int n : {8, 9, 10, 12, 14, 15, 16, 24, 48, 96}) {
        for (const auto* type : {"ring", "exponential", "torus", "complete"}) {
            for (const auto& other : found(type, n)) {
                INFO(type << " " << other << " " << n);
                CHECK(other != "=ring");
                CHECK(other != "=exponential");
                CHECK(other != "=torus");
                CHECK(other != "=complete");
                CHECK(other.front() == '=');
            }
        }
    }
}

TEST_CASE("numbering does not matter, links and weights do", "[graphs]") {
    CHECK(same_up_to_numbering(*make("torus", 64), *make(R"({"type":"torus","lazy":1})", 64)));
    CHECK_FALSE(
        same_up_to_numbering(*make("ring", 12), *make(R"({"type":"ring","lazy":0.5})", 12)));
    CHECK_FALSE(same_up_to_numbering(*make("ring", 12), *make("one_way_ring", 12)));
    CHECK_FALSE(same_up_to_numbering(*make("torus", 64), *make("ring_lattice", 64)));
    CHECK_FALSE(same_up_to_numbering(*make("ring", 12), *make("ring", 13)));
    CHECK(same_up_to_numbering(*make("complete", 200), *make("complete", 200)));
}

TEST_CASE("sequences and lists coincide with nothing", "[graphs]") {
    CHECK(found("one_peer_exponential", 8).empty());
    CHECK(coincidences(*make("ring", 4), base::Json::array({"ring"})).empty());
}

TEST_CASE("the sentence names the graphs and n", "[graphs]") {
    CHECK(coincidence_text("ring", 8, {}).empty());
    const std::string text =
        coincidence_text("torus", 4, {{"ring", true}, {"hypercube", true}, {"exponential", false}});
    CHECK(text.find("with 4 replicas torus is the same graph as ring and hypercube") == 0);
    CHECK(text.find("averages exactly as much as exponential") != std::string::npos);
}
