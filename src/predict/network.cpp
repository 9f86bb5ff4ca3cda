#include "predict/network.hpp"

#include <algorithm>
#include <iterator>

namespace dbench::predict {

const Distribution& Slowdown::of(int peers) const {
    const auto next = by_peers.upper_bound(std::max(1, peers));
    return std::prev(next)->second;
}

Slowdown Slowdown::means() const {
    Slowdown means;
    for (const auto& [peers, factors] : by_peers) {
        means.by_peers[peers] = Distribution(factors.mean());
    }
    means.after_change = after_change;
    return means;
}

int Network::hosts() const {
    return host.empty() ? 0 : 1 + *std::max_element(host.begin(), host.end());
}

}  // namespace dbench::predict
