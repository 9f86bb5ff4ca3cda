// Consensus control (Kong et al. 2021, arXiv 2102.04828): dsgd (adapt_then_combine) in which
// averaging is repeated until the consensus distance is under a target, fixed or a fraction of its
// running maximum, at most max_rounds times:
//
//     x <- x - lr d(g(x));   repeat x <- W x  until  Xi(x) <= target
//
// The same as dsgd over the graph controller of that name. One row per neighbour and averaging.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::algorithms {
namespace {

std::unique_ptr<Algorithm> make(const base::Json&, const AlgorithmContext& context) {
    return adapt_then_combine(context.schedule, true);
}

std::unique_ptr<graphs::Schedule> schedule(const base::Json& spec,
                                           std::shared_ptr<const graphs::Schedule> graph,
                                           const graphs::RunFacts& run) {
    return graphs::control_consensus(spec, std::move(graph), run);
}

}  // namespace

AlgorithmEntry consensus_control_entry() {
    return {{"consensus_control", "decentralized SGD that averages again until replicas are close",
             graphs::consensus_control_parameters()},
            make,
            {.sequences = false},
            {},
            schedule};
}

}  // namespace dbench::algorithms
