#include "predict/all_reduce.hpp"

#include <algorithm>

namespace dbench::predict {
namespace {

// True if the ranks of each host are consecutive, and as many as those of every other host. If the
// number of hosts is a power of two, the rows of each host are then a node of the fixed tree.
bool hosts_are_nodes(const std::vector<int>& ranks, const std::map<int, int>& members,
                     const SumFacts& facts) {
    const size_t hosts = members.size(), each = ranks.size() / hosts;
    if ((hosts & (hosts - 1)) != 0 || !facts.equal_ranks) return false;
    for (size_t k = 0; k < ranks.size(); ++k) {
        const int host = facts.host[static_cast<size_t>(ranks[k])];
        const int first = facts.host[static_cast<size_t>(ranks[k - k % each])];
        if (host != first || members.at(host) != static_cast<int>(each)) return false;
    }
    return true;
}

}  // namespace

AllReduce::AllReduce(const std::vector<int>& ranks, const SumFacts& facts)
    : route_(SumRoute::messages), ranks_(static_cast<double>(ranks.size())) {
    for (const int rank : ranks) ++members_[facts.host[static_cast<size_t>(rank)]];
    const bool all = ranks.size() == facts.host.size();
    const bool each_has_several = std::all_of(members_.begin(), members_.end(),
                                              [](const auto& host) { return host.second > 1; });
    if (facts.in_place && all && apart() && each_has_several && !facts.coded &&
        (facts.library || hosts_are_nodes(ranks, members_, facts))) {
        route_ = SumRoute::by_host;
    } else if (facts.library) {
        route_ = SumRoute::ring;
    }
}

double AllReduce::rows_of_host(int host) const {
    const double own = members_.at(host), hosts = static_cast<double>(members_.size());
    if (!apart()) return 0;
    switch (route_) {
        case SumRoute::messages:
            return 2 * own * (ranks_ - own) / ranks_;
        case SumRoute::ring:
            return 2 * (ranks_ - 1) / ranks_;
        case SumRoute::by_host:
            return 2 * (hosts - 1) / hosts;
    }
    return 0;
}

double AllReduce::rows_of_rank(int host) const {
    return route_ == SumRoute::by_host ? rows_of_host(host) / members_.at(host)
                                       : 2 * (ranks_ - 1) / ranks_;
}

double AllReduce::messages_in_turn() const {
    return 2 * (route_ == SumRoute::ring ? ranks_ - 1 : 1);
}

int AllReduce::peers() const {
    const int others = static_cast<int>(members_.size()) - 1;
    return route_ == SumRoute::ring ? std::min(1, others) : others;
}

}  // namespace dbench::predict
