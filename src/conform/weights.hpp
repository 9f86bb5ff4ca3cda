#pragma once
// Mixing matrices in the form that the references use. Internal to this module.

#include "conform/reference.hpp"
#include "graphs/schedule.hpp"

namespace dbench::conform {

/// Returns W of a round.
Weights weights_of(const graphs::Schedule& graph, graphs::Round round);

/// Returns J / n: all entries are 1 / n.
Weights mean_weights(int64_t n);

/// Returns the number of rows that averaging by W sends, over all replicas: one over each link, and
/// 2 (m - 1) / m from each of m replicas that average among themselves alone with equal weights.
double rows_sent(const Weights& w);

/// Replaces x by its mean inside blocks of `block` consecutive replicas, and returns the number of
/// rows that this sends.
double average_blocks(Matrix& x, int64_t block);

}  // namespace dbench::conform
