#pragma once  // Private to predict.
// The other hosts to which each host sends. They decide about the slowdown of its messages.

#include <cstdint>
#include <set>
#include <vector>

#include "predict/all_reduce.hpp"
#include "predict/network.hpp"
#include "predict/rounds.hpp"

namespace dbench::predict {

/// The peers of each host in an iteration, and whether they changed since the iteration before.
class HostPeers {
public:
    /// Keeps references.
    HostPeers(const Network& network, const Rounds& rounds, const SumFacts& sums);

    /// Goes on to iteration t. Iterations come in their order.
    void advance(int64_t t);
    /// Returns the number of other hosts to which a host sends at the same time.
    int count(size_t host) const { return counts_[host]; }
    /// Returns whether Slowdown::after_change prolongs the messages of a host.
    bool changed(size_t host) const { return changed_[host]; }

private:
    void find(const RoundPlan& plan);

    const Network& network_;
    const Rounds& rounds_;
    const SumFacts& sums_;
    size_t plan_ = SIZE_MAX;  // index into the plans of `rounds_`
    // For each host. In an all-reduce, a host sends to all others, of which the next one becomes a
    // target: the only one in a ring or in a pair.
    std::vector<std::set<int>> targets_;
    std::vector<int> counts_;
    std::vector<bool> changed_;
};

}  // namespace dbench::predict
