// Two levels, for nodes of L = gpus_per_node replicas: replica a L + b is place b of node a.
//
//     hierarchical   W_t = outer_t (x) inner_t, the Kronecker product of a graph of the nodes and
//                    one of a node's replicas
//     aer            alternating exponential ring (the Decent-DP library; Wang et al., ICLR 2025,
//                    arXiv 2410.11998): the rounds of the one-peer hypercube between nodes, each in
//                    two steps, in one of which a pair averages inside and in the other over both
//                    nodes (weights 1 / (2 L)); the rounds of Base-2 where the nodes are no
//                    power of two (this project's)

#include <nlohmann/json.hpp>
#include <numeric>

#include "graphs/matrix/kron.hpp"
#include "graphs/types/base_graph.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

constexpr int64_t kLongest = 4096;  // rounds of a sequence that is kept as a list

int places(const std::string& name, const base::Json& spec, const GraphContext& context,
           const std::string& pointer) {
    if (context.n == 1) return 1;
    const auto count = spec.at("gpus_per_node").get<int64_t>();
    const auto admits = [count](int64_t n) { return n % count == 0; };
    if (!admits(context.n)) {
        refuse_size(name + " with gpus_per_node = " + std::to_string(count),
                    "n must be a multiple of it", context.n, admits, pointer);
    }
    return static_cast<int>(count);
}

// Every iteration mixes inside the nodes and between them, W_t = outer_t (x) inner_t.
std::unique_ptr<Schedule> make_hierarchical(const base::Json& spec, const GraphContext& context,
                                            const std::string& pointer) {
    const int inside = places("hierarchical", spec, context, pointer);
    const std::shared_ptr<const Schedule> inner =
        make_graph(spec.at("inner"), {inside, context.seed}, pointer + "/inner");
    const std::shared_ptr<const Schedule> outer =
        make_graph(spec.at("outer"), {context.n / inside, context.seed}, pointer + "/outer");
    const double theta = spec.at("lazy").get<double>();
    const auto draw = [inner, outer, theta](int64_t t) {
        return lazy_matrix(kronecker(outer->matrix(outer->at(t)), inner->matrix(inner->at(t))),
                           theta);
    };
    const int64_t period =
        inner->period() > 0 && outer->period() > 0 ? std::lcm(inner->period(), outer->period()) : 0;
    if (period == 0 || period > kLongest) return redrawn(context.n, draw, -1);
    std::vector<MatrixPtr> matrices;
    for (int64_t t = 0; t < period; ++t) matrices.push_back(draw(t));
    return in_turn(std::move(matrices));
}

// Alternating exponential ring. Round by round of an exact sequence of node pairs (the one-peer
// hypercube where their number is a power of two): of the pairs, every other one first averages
// inside its nodes and then over both, the others the other way round, so that at any time only
// half of them use the network.
std::unique_ptr<Schedule> make_aer(const base::Json& spec, const GraphContext& context,
                                   const std::string& pointer) {
    const int inside = places("aer", spec, context, pointer);
    const int nodes = context.n / inside;
    const MatrixPtr inner = uniform_weights(complete_topology(inside));
    std::vector<MatrixPtr> matrices;
    size_t counter = 0;  // of pairs, over all rounds
    for (const WeightedRound& round : base_graph(nodes, 1)) {
        std::vector<Entry3> steps[2];
        for (auto& step : steps) {
            for (int node = 0; node < nodes; ++node) step.push_back({node, node, 1.0});
        }
        for (const auto& [a, b, weight] : round) {
            auto& step = steps[counter++ % 2 == 0 ? 1 : 0];  // where this pair meets
            for (const int node : {a, b}) {
                step.push_back({node, node, -weight});
                step.push_back({node, node == a ? b : a, weight});
            }
        }
        for (auto& step : steps) {
            matrices.push_back(kronecker(explicit_matrix(nodes, std::move(step)), inner));
        }
    }
    if (matrices.empty()) matrices.push_back(inner);  // one node
    return in_turn(std::move(matrices));
}

base::Parameter gpus_parameter() {
    return base::Parameter::integer("gpus_per_node", "1", "replicas on a node").at_least(1);
}

}  // namespace

GraphEntry hierarchical_entry() {
    return graph_entry(
        "hierarchical", "a graph inside the nodes times a graph between them, in every iteration",
        {gpus_parameter(),
         base::Parameter::any("inner", "\"complete\"", "graph of a node's replicas"),
         base::Parameter::any("outer", "\"ring\"", "graph of the nodes"), lazy_parameter()},
        make_hierarchical);
}

GraphEntry aer_entry() {
    return graph_entry("aer",
                       "alternating exponential ring: node pairs in turn, half of them on the "
                       "network at a time; exact after its period",
                       {gpus_parameter()}, make_aer);
}

}  // namespace dbench::graphs
