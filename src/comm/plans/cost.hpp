#pragma once
// Counts of the messages that one averaging sends, as docs/numerics.md defines them ("what counts
// as sent"). The counts do not depend on how replicas are placed on ranks.

#include <cstdint>

#include "graphs/schedule.hpp"

namespace dbench::comm {

/// Messages and rows of one round if every rank held one replica. A replica sends one row to each
/// out-neighbour. A group of m replicas, whose averaging is an all-reduce, counts 2 (m - 1)
/// messages and 2 (m - 1) / m rows per member.
struct RoundCost {
    double degree;     ///< Mean out-degree without the replica itself.
    int64_t messages;  ///< Sum over replicas.
    double rows;       ///< Rows sent, summed over replicas. Times bytes per row: `bytes_sent`.
    double gathered;  ///< The rows among these that hold a group's mean. Mixing sends them uncoded.
    bool averages;    ///< True if W is not the identity.
};
/// Returns the cost of averaging with the round's matrix.
RoundCost round_cost(const graphs::Schedule& schedule, graphs::Round round);
/// Returns the cost if every replica sends one message over each of its links, even inside groups.
RoundCost link_cost(const graphs::Schedule& schedule, graphs::Round round);
/// Returns the cost of an all-reduce over n replicas.
RoundCost all_reduce_cost(int64_t n);

}  // namespace dbench::comm
