// Hierarchical local SGD (Lin et al. 2018, arXiv 1808.07217, section 5): dsgd (adapt_then_combine)
// with, every `period` iterations, the mean over the replicas of a node, and every `outer_period`
// iterations the graph over all replicas instead:
//
//     W_t = W                     where (t + 1) mod outer_period = 0
//           blocks of J/G         else, where (t + 1) mod period = 0
//           I                     else
//
// Nodes are consecutive blocks of G replicas (the last one may be smaller). Inside a node an
// all-reduce, between nodes one row per neighbour.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "base/error.hpp"
#include "graphs/schedules/chosen.hpp"

namespace dbench::algorithms {
namespace {

void check(base::Json& spec, const std::string& pointer) {
    const auto inner = spec.at("period").get<int64_t>();
    const auto outer = spec.at("outer_period").get<int64_t>();
    if (outer % inner == 0) return;
    throw base::UserError(pointer + "/outer_period: must be a multiple of period = " +
                          std::to_string(inner) + " (found " + std::to_string(outer) +
                          "): choose " + std::to_string((outer / inner + 1) * inner));
}

std::unique_ptr<graphs::Schedule> schedule(const base::Json& spec,
                                           std::shared_ptr<const graphs::Schedule> graph,
                                           const graphs::RunFacts&) {
    const int n = graph->size();
    std::shared_ptr<const graphs::Schedule> nodes =
        graphs::node_average(n, spec.at("gpus_per_node"));
    std::shared_ptr<const graphs::Schedule> inside =
        graphs::every_so_often(std::move(nodes), graphs::no_exchange(n), spec.at("period"));
    return graphs::every_so_often(std::move(graph), std::move(inside), spec.at("outer_period"));
}

}  // namespace

AlgorithmEntry hierarchical_averaging_entry() {
    using P = base::Parameter;
    return {{"hierarchical_averaging",
             "averages inside a node often, between nodes seldom",
             {P::integer("gpus_per_node", "4", "replicas of a node, consecutive").at_least(1),
              P::integer("period", "1", "iterations from one average inside nodes to the next")
                  .at_least(1),
              P::integer("outer_period", "8", "iterations from one use of the graph to the next")
                  .at_least(1)}},
            make_over_schedule,
            {},
            {},
            schedule,
            check};
}

}  // namespace dbench::algorithms
