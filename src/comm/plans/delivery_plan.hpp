#pragma once
// What a round's messages mean to one rank: which it sends, which come, and who hears them.

#include <cstdint>
#include <vector>

#include "comm/placement.hpp"
#include "graphs/schedule.hpp"

namespace dbench::comm {

/// One message of a replica for all who use it, or one for each of them.
enum class Addressed : uint8_t { to_all, to_each };

struct DeliveryPlan {
    /// A local replica's message; the slot is its place in the row where there are several.
    struct Posted {
        int rank;
        int64_t row, slot;
    };
    struct Source {
        int64_t replica;
        double weight;
        bool received;
        int64_t row, slot;  ///< as above; of a received one the slot alone: which of `in` it is
    };
    std::vector<Posted> out;
    std::vector<int> in;                     ///< the ranks that messages come from
    std::vector<std::vector<Source>> heard;  ///< per local replica, see Exchange::finish_messages
};

/// Row i of W is asked for, for local i only, and columns for local replicas only.
DeliveryPlan make_delivery_plan(const graphs::Schedule& schedule, graphs::Round round,
                                const Placement& placement, int rank, Addressed addressed);

}  // namespace dbench::comm
