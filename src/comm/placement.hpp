#pragma once
// The assignment of replicas to ranks: consecutive blocks, of which the first n mod r are one
// replica larger.

#include <cstdint>

namespace dbench::comm {

/// The blocks of `replicas` replicas on `ranks` ranks. Requires ranks >= 1.
struct Placement {
    int64_t replicas = 1;
    int ranks = 1;

    /// Returns the rank's first replica. begin(ranks) is the number of replicas.
    int64_t begin(int rank) const {
        const int64_t share = replicas / ranks, more = replicas % ranks;
        return rank * share + (rank < more ? rank : more);
    }
    /// Returns the number of the rank's replicas.
    int64_t count(int rank) const { return begin(rank + 1) - begin(rank); }
    /// Returns the rank that holds the replica.
    int rank_of(int64_t replica) const {
        const int64_t share = replicas / ranks, more = replicas % ranks;
        const int64_t in_larger = more * (share + 1);
        return static_cast<int>(replica < in_larger ? replica / (share + 1)
                                                    : more + (replica - in_larger) / share);
    }
};

}  // namespace dbench::comm
