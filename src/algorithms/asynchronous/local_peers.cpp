#include "algorithms/asynchronous/local_peers.hpp"

namespace dbench::algorithms {

void LocalPeers::begin(const Turn& turn) {
    const int64_t i = turn.replica;
    arena::copy(x_.only(i), snapshots_.only(i), columns_, queue_);
    averagings_[at(i)] = 0;
    iteration_[at(i)] = turn.iteration;
}

void LocalPeers::average(int64_t i, int64_t j) {
    const std::vector<std::vector<arena::Term>> halves{{{x_.at(i, 0), 0.5}, {x_.at(j, 0), 0.5}}};
    arena::weighted_means(halves, x_.only(i), columns_, queue_);
    arena::copy(x_.only(i), x_.only(j), columns_, queue_);
    ++averagings_[at(i)];
    ++averagings_[at(j)];
}

void LocalPeers::mix(int64_t i, const std::vector<graphs::Link>& links) {
    std::vector<std::vector<arena::Term>> terms(1);
    oldest_[at(i)] = iteration_[at(i)];
    for (const graphs::Link& link : links) {
        if (link.peer == i) {
            terms[0].insert(terms[0].begin(), {x_.at(i, 0), link.weight});
        } else {
            terms[0].push_back({snapshots_.at(link.peer, 0), link.weight});
            oldest_[at(i)] = std::min(oldest_[at(i)], iteration_[at(link.peer)]);
        }
    }
    arena::weighted_means(terms, x_.only(i), columns_, queue_);
}

}  // namespace dbench::algorithms
