// Hierarchical local SGD (Lin et al. 2018, arXiv 1808.07217, section 5): dsgd (adapt_then_combine)
// that averages the replicas of each node every `period` iterations, and uses the graph over all
// replicas instead every `outer_period` iterations:
//
//     W_t = W                     if (t + 1) mod outer_period = 0
//           blocks of J/G         else, if (t + 1) mod period = 0
//           I                     else
//
// Nodes are consecutive blocks of G replicas; the last one may be smaller.
//
// * State: none.
// * Sends: an all-reduce inside nodes; one row per neighbour between nodes.
// * Requires: outer_period must be a multiple of period.

#include "algorithms/entries.hpp"
#include "base/error.hpp"
#include "graphs/schedules/selection.hpp"

namespace dbench::algorithms {
namespace {

struct HierarchicalSpec {
    int64_t gpus_per_node, period, outer_period;

    static const base::Section<HierarchicalSpec>& section();
};

const base::Section<HierarchicalSpec>& HierarchicalSpec::section() {
    using P = base::Parameter;
    static const base::Section<HierarchicalSpec> keys{
        {P::integer("gpus_per_node", "4", "consecutive replicas per node").at_least(1),
         &HierarchicalSpec::gpus_per_node},
        {P::integer("period", "1", "iterations from one average inside nodes to the next")
             .at_least(1),
         &HierarchicalSpec::period},
        {P::integer("outer_period", "8", "iterations from one use of the graph to the next")
             .at_least(1),
         &HierarchicalSpec::outer_period},
    };
    return keys;
}

void check_hierarchical_averaging(const HierarchicalSpec& spec, const std::string& pointer) {
    const int64_t inner = spec.period, outer = spec.outer_period;
    if (outer % inner == 0) return;
    throw base::UserError(pointer + "/outer_period: must be a multiple of period = " +
                          std::to_string(inner) + " (found " + std::to_string(outer) +
                          "): choose " + std::to_string((outer / inner + 1) * inner));
}

std::unique_ptr<graphs::Schedule> schedule_hierarchical_averaging(
    const HierarchicalSpec& spec, std::shared_ptr<const graphs::Schedule> graph,
    const graphs::RunFacts&) {
    const int n = graph->size();
    std::shared_ptr<const graphs::Schedule> nodes = graphs::node_average(n, spec.gpus_per_node);
    std::shared_ptr<const graphs::Schedule> inside =
        graphs::periodic_schedule(std::move(nodes), graphs::no_exchange_schedule(n), spec.period);
    return graphs::periodic_schedule(std::move(graph), std::move(inside), spec.outer_period);
}

}  // namespace

AlgorithmEntry hierarchical_averaging_entry() {
    return {"hierarchical_averaging",
            "averages often inside nodes, and less often over the graph",
            make_over_schedule<HierarchicalSpec>,
            {},
            {.schedule = schedule_hierarchical_averaging, .check = check_hierarchical_averaging}};
}

}  // namespace dbench::algorithms
