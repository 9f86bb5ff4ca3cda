// Gossip-PGA, gossip with periodic global averaging (Chen et al. 2021, arXiv 2105.09080, algorithm
// 1): dsgd (adapt_then_combine) with
//
//     W_t = J/n if (t + 1) mod H = 0, else the graph's W
//
// A graph that changes from round to round continues afterwards with the round that was due.
//
// * State: none.
// * Sends: one row per neighbour and iteration; an all-reduce if the global average is due.
// * Requires: nothing beyond a doubly stochastic W.

#include "algorithms/entries.hpp"
#include "graphs/schedules/selection.hpp"

namespace dbench::algorithms {
namespace {

struct GossipPgaSpec : PeriodSpec {
    static const base::Section<GossipPgaSpec>& section();
};

const base::Section<GossipPgaSpec>& GossipPgaSpec::section() {
    static const base::Section<GossipPgaSpec> keys{
        {period_parameter("6"), &GossipPgaSpec::period},
    };
    return keys;
}

std::unique_ptr<graphs::Schedule> schedule_gossip_pga(const GossipPgaSpec& spec,
                                                      std::shared_ptr<const graphs::Schedule> graph,
                                                      const graphs::RunFacts&) {
    return graphs::with_global_averages(std::move(graph), {.instead = spec.period});
}

}  // namespace

AlgorithmEntry gossip_pga_entry() {
    return {"gossip_pga",
            "decentralized SGD with a global average after every H iterations",
            make_over_schedule<GossipPgaSpec>,
            {},
            {.schedule = schedule_gossip_pga}};
}

}  // namespace dbench::algorithms
