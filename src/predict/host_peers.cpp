#include "predict/host_peers.hpp"

#include <algorithm>
#include <utility>

namespace dbench::predict {
namespace {

size_t index(int host) { return static_cast<size_t>(host); }

}  // namespace

HostPeers::HostPeers(const Network& network, const Rounds& rounds, const SumFacts& sums)
    : network_(network), rounds_(rounds), sums_(sums) {
    const size_t hosts = index(network.hosts());
    targets_.resize(hosts);
    counts_.resize(hosts);
    changed_.resize(hosts);
}

void HostPeers::advance(int64_t t) {
    const size_t plan = rounds_.index(t);
    std::fill(changed_.begin(), changed_.end(), false);
    if (plan == std::exchange(plan_, plan)) return;
    const std::vector<std::set<int>> before = targets_;
    find(rounds_.plans[plan]);
    for (size_t h = 0; h < targets_.size(); ++h) {
        const std::set<int>&last = before[h], &now = targets_[h];
        changed_[h] =
            !last.empty() && !now.empty() && std::none_of(now.begin(), now.end(), [&](int host) {
                return last.contains(host) || before[index(host)].empty();
            });
    }
}

// Sets targets_ and counts_.
void HostPeers::find(const RoundPlan& plan) {
    for (std::set<int>& hosts : targets_) hosts.clear();
    for (size_t rank = 0; rank < plan.out.size(); ++rank) {
        const int here = network_.host[rank];
        for (const auto& [other, rows] : plan.out[rank]) {
            const int there = network_.host[index(other)];
            if (there != here) targets_[index(here)].insert(there);
        }
    }
    for (size_t h = 0; h < counts_.size(); ++h) counts_[h] = static_cast<int>(targets_[h].size());
    for (const std::vector<int>& group : plan.groups) {
        const AllReduce sum(group, sums_);
        if (!sum.apart()) continue;
        int last = sum.members().rbegin()->first;
        for (const auto& [host, count] : sum.members()) {
            counts_[index(host)] += sum.peers();
            targets_[index(std::exchange(last, host))].insert(host);
        }
    }
}

}  // namespace dbench::predict
