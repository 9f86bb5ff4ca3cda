#pragma once
// The plan of one round's opaque messages (messages that are not rows) for one rank: which messages
// it sends, which it receives, and which replica uses which message.
// exchange/delivery_operation.hpp carries the plan out.

#include <cstdint>
#include <vector>

#include "comm/placement.hpp"
#include "graphs/schedule.hpp"

namespace dbench::comm {

/// Each replica has one message for all of its users, or a separate message for each user.
enum class Addressing : uint8_t { to_all, to_each };

/// The messages that one rank sends, receives and uses. A replica's messages are stored one after
/// another in its row; a message's index in the row is its slot. With Addressing::to_all there is
/// only slot 0.
struct DeliveryPlan {
    /// A message of local replica `row` that is sent to `rank`.
    struct OutgoingMessage {
        int rank;
        int64_t row, slot;
    };
    /// A message that a local replica uses, with the sender and its weight in W.
    struct Source {
        int64_t replica;
        double weight;
        bool received;  ///< True if it comes from another rank.
        /// Local message: row and slot of the sender. Received message: `slot` is the index in
        /// `in`.
        int64_t row, slot;
    };
    /// Messages to other ranks, in the order in which they are sent.
    std::vector<OutgoingMessage> out;
    std::vector<int> in;  ///< Per message that arrives, in order: the rank that sends it.
    /// Per local replica: the messages that it uses; see Exchange::finish_messages.
    std::vector<std::vector<Source>> used_messages;
};

/// Makes the plan of a round. Queries `schedule` for the rows and columns of W that belong to local
/// replicas only.
DeliveryPlan make_delivery_plan(const graphs::Schedule& schedule, graphs::Round round,
                                const Placement& placement, int rank, Addressing addressing);

}  // namespace dbench::comm
