#pragma once
// Mixing matrices as the references take them. Internal to this room.

#include "conform/reference.hpp"
#include "graphs/schedule.hpp"

namespace dbench::conform {

/// W of a round.
Weights weights_of(const graphs::Schedule& graph, graphs::Round round);

/// J / n: all entries 1 / n.
Weights mean_weights(int64_t n);

/// Rows that averaging by W sends, over all replicas: one over each link, 2 (m - 1) / m from each
/// of m replicas that average among themselves alone, with equal weights.
double rows_sent(const Weights& w);

/// x becomes its mean inside blocks of `block` consecutive replicas; the rows that this sends.
double average_blocks(Matrix& x, int64_t block);

}  // namespace dbench::conform
