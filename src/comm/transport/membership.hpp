#pragma once
// One rank's place among the processes of a run, as World takes it from its maker.

#include <memory>
#include <string>
#include <vector>

#include "arena/device/queue.hpp"
#include "comm/transport/control_transport.hpp"
#include "comm/transport/row_transport.hpp"

namespace dbench::comm {

/// Both transports connect the same ranks. Either may be wrapped in another that forwards to it (to
/// delay, to count, to fail), or come from another transport.
struct Membership {
    int rank = 0, size = 1;
    int local_rank = 0, local_size = 1;  ///< among the ranks on this host
    std::string host;
    std::vector<int> slots;  ///< of each rank its number at the transport; empty: the same
    std::unique_ptr<ControlTransport> control;  ///< leaves last
    std::unique_ptr<RowTransport> rows;
    arena::Queues queues;  ///< where this rank computes; they outlive it

    int slot() const { return slots.empty() ? rank : slots[static_cast<size_t>(rank)]; }
};

}  // namespace dbench::comm
