#pragma once
// Ranks with other numbers than their transport gives them, to place replicas on chosen hosts.

#include <vector>

#include "comm/transport/membership.hpp"

namespace dbench::comm {

/// Returns the same membership under other numbers: rank r is the transport's slots[r], a
/// permutation. Undoes an earlier renumbering first; empty `slots` leave the transport's own
/// numbers. The returned transports translate ranks. Every rank calls it with the same slots, while
/// no operation is in flight.
Membership renumbered(Membership member, std::vector<int> slots);

}  // namespace dbench::comm
