#pragma once
// Ranks inside one process: a lone process is a group of one, and threads can play ranks in tests.

#include <memory>

#include "comm/transport/membership.hpp"

namespace dbench::comm {

/// The message boxes of `size` ranks that are threads of this process.
class LocalGroup;
std::shared_ptr<LocalGroup> local_group(int size);

/// Makes this thread rank `rank` of the group. Rows have no library that sums.
Membership join_local(std::shared_ptr<LocalGroup> group, int rank);

}  // namespace dbench::comm
