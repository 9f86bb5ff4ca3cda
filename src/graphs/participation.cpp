#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/random.hpp"
#include "graphs/families.hpp"
#include "graphs/sparse.hpp"

namespace dbench::graphs {
namespace {

constexpr int64_t kLongest = 4096;

// A symmetric W without the links of idle replicas, whose weight stays with their peers: symmetric
// and doubly stochastic again.
class Masked final : public Matrix {
public:
    Masked(MatrixPtr matrix, std::vector<bool> active)
        : matrix_(std::move(matrix)), active_(std::move(active)) {}

    int size() const override { return matrix_->size(); }
    std::vector<Link> in(int i) const override {
        if (!active_[i]) return {{i, 1.0}};
        std::vector<Link> links;
        double kept = 0;
        size_t self = 0;
        for (const Link& link : matrix_->in(i)) {
            if (link.peer == i) self = links.size();
            if (link.peer != i && !active_[link.peer]) kept += link.weight;
            if (link.peer == i || active_[link.peer]) links.push_back(link);
        }
        links[self].weight += kept;
        return links;
    }
    std::vector<Link> out(int i) const override { return in(i); }

private:
    MatrixPtr matrix_;
    std::vector<bool> active_;
};

std::unique_ptr<Schedule> make(const base::Json& spec, const GraphContext& context,
                               const std::string& pointer) {
    const int n = context.n;
    const std::shared_ptr<const Schedule> graph =
        make_graph(spec.at("graph"), context, pointer + "/graph");
    for (int64_t t = 0; t < std::clamp<int64_t>(graph->period(), 1, 64); ++t) {
        if (is_symmetric(*graph->matrix(graph->at(t)))) continue;
        throw base::UserError(pointer +
                              "/graph: participation needs symmetric matrices (leaving "
                              "replicas out of a directed graph would bias the average): use an "
                              "undirected graph such as ring or torus");
    }
    const auto count =
        std::clamp<int64_t>(std::llround(spec.at("fraction").get<double>() * n), 1, n);
    const bool in_order = spec.at("policy").get<std::string>() == "round_robin";
    const auto draw = [=, seed = context.seed](int64_t t) -> MatrixPtr {
        std::vector<bool> active(n, false);
        if (in_order) {
            for (int64_t k = 0; k < count; ++k) active[(t % n * count + k) % n] = true;
        } else {
            base::Random random(seed, base::Purpose::participation, {static_cast<uint64_t>(t)});
            const auto order = base::permutation(n, random);
            for (int64_t k = 0; k < count; ++k) active[order[k]] = true;
        }
        return std::make_shared<Masked>(graph->matrix(graph->at(t)), std::move(active));
    };
    const int64_t turn = n / std::gcd<int64_t>(n, count);
    const int64_t period = in_order && graph->period() > 0 ? std::lcm(turn, graph->period()) : 0;
    if (period == 0 || period > kLongest) return redrawn(n, draw, -1);
    std::vector<MatrixPtr> matrices;
    for (int64_t t = 0; t < period; ++t) matrices.push_back(draw(t));
    return in_turn(std::move(matrices));
}

}  // namespace

GraphEntry participation_entry() {
    return graph_entry(
        "participation",
        "a graph in which only some replicas exchange per iteration, the others idle",
        {base::Parameter::any("graph", "\"ring\"", "the graph that is thinned out; undirected"),
         base::Parameter::number("fraction", "0.5", "share of replicas that exchange")
             .greater_than(0)
             .at_most(1),
         base::Parameter::choice("policy", "\"random\"", {"random", "round_robin"},
                                 "which: drawn anew, or the next ones in order")},
        make);
}

}  // namespace dbench::graphs
