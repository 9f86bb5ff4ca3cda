// Consensus control (Kong et al. 2021, arXiv 2102.04828): dsgd (adapt_then_combine) that repeats
// the averaging until the consensus distance Xi is below a target, at most max_rounds times. The
// target is fixed, or a fraction of the running maximum of Xi.
//
//     x <- x - lr d(g(x));   repeat x <- W x  until  Xi(x) <= target
//
// This equals dsgd over the graph controller consensus_control.
//
// * State: none.
// * Sends: one row per neighbour and averaging; each measurement of Xi sends moments.
// * Requires: a graph that does not change.

#include "algorithms/entries.hpp"
#include "graphs/control/consensus_target.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::algorithms {
namespace {

std::unique_ptr<Algorithm> make_consensus_control(const graphs::ConsensusTargetSpec&,
                                                  const AlgorithmContext& context) {
    return adapt_then_combine(context.schedule, true);
}

}  // namespace

AlgorithmEntry consensus_control_entry() {
    return {"consensus_control",
            "decentralized SGD that repeats averaging until replicas are close",
            make_consensus_control,
            {.sequences = false, .repeats_averaging = true},
            {.schedule = graphs::control_consensus}};
}

}  // namespace dbench::algorithms
