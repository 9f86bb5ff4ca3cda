#pragma once  // Private to comm/transport.
// Transports between ranks inside one process: a process alone is a group of one, and in tests
// threads play the ranks.

#include <memory>

#include "comm/transport/membership.hpp"

namespace dbench::comm {

/// The message boxes of `size` ranks that are threads of this process.
class LocalGroup;
std::shared_ptr<LocalGroup> local_group(int size);

/// Makes the calling thread rank `rank` of the group. The row transport has no library that sums.
Membership join_local(std::shared_ptr<LocalGroup> group, int rank);

}  // namespace dbench::comm
