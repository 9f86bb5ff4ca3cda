// Gossip with periodic global averaging (Gossip-PGA: Chen et al. 2021, arXiv 2105.09080,
// algorithm 1): dsgd (adapt_then_combine) with
//
//     W_t = J/n where (t + 1) mod H = 0,   the graph's W else
//
// where a graph that changes from round to round goes on with the round that was due.
// One row per neighbour and iteration, an all-reduce where the global average is due.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "graphs/schedules/chosen.hpp"

namespace dbench::algorithms {
namespace {

std::unique_ptr<graphs::Schedule> schedule(const base::Json& spec,
                                           std::shared_ptr<const graphs::Schedule> graph,
                                           const graphs::RunFacts&) {
    return graphs::averaged_globally(std::move(graph), {.instead = spec.at("period")});
}

}  // namespace

AlgorithmEntry gossip_pga_entry() {
    return {{"gossip_pga",
             "decentralized SGD with a global average after every H iterations",
             {period_parameter("6")}},
            make_over_schedule,
            {},
            {},
            schedule};
}

}  // namespace dbench::algorithms
