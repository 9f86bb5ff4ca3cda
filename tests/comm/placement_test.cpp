#include "comm/placement.hpp"
#include "catch.hpp"

namespace dbench::comm {

TEST_CASE("Ranks hold consecutive blocks of replicas, the first blocks one longer") {
    const Placement placement{11, 4};
    CHECK(placement.begin(0) == 0);
    CHECK(placement.begin(1) == 3);
    CHECK(placement.begin(2) == 6);
    CHECK(placement.begin(3) == 9);
    CHECK(placement.begin(4) == 11);
}

TEST_CASE("rank_of returns the rank whose block holds the replica") {
    for (int64_t n = 1; n <= 20; ++n) {
        for (int ranks = 1; ranks <= n; ++ranks) {
            const Placement placement{n, ranks};
            int64_t total = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                total += placement.count(rank);
                for (int64_t i = 0; i < placement.count(rank); ++i) {
                    CHECK(placement.rank_of(placement.begin(rank) + i) == rank);
                }
            }
            CHECK(total == n);
        }
    }
}

}  // namespace dbench::comm
