#pragma once
// Ranks that are numbered otherwise than their transport numbers them: a placement.

#include <vector>

#include "comm/transport/membership.hpp"

namespace dbench::comm {

/// The same processes under other numbers: rank r is the transport's slots[r], a permutation.
/// Earlier renumbering is undone first; none: the transport's own numbers. The transports translate
/// on the way. Every rank calls it with the same slots, while nothing is under way.
Membership renumbered(Membership member, std::vector<int> slots);

}  // namespace dbench::comm
