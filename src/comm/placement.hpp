#pragma once
// Which rank holds which replica: consecutive blocks, the first n mod r ranks hold one more.

#include <cstdint>

namespace dbench::comm {

struct Placement {
    int64_t replicas = 1;
    int ranks = 1;

    int64_t begin(int rank) const {
        const int64_t share = replicas / ranks, more = replicas % ranks;
        return rank * share + (rank < more ? rank : more);
    }
    int64_t count(int rank) const { return begin(rank + 1) - begin(rank); }
    int rank_of(int64_t replica) const {
        const int64_t share = replicas / ranks, more = replicas % ranks;
        const int64_t in_larger = more * (share + 1);
        return static_cast<int>(replica < in_larger ? replica / (share + 1)
                                                    : more + (replica - in_larger) / share);
    }
};

}  // namespace dbench::comm
