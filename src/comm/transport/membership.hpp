#pragma once
// One rank's membership in the group of processes of a run: its numbers, its transports and the
// place where it computes. The launcher or a test makes it; World takes it over.

#include <memory>
#include <string>
#include <vector>

#include "arena/device/place.hpp"
#include "comm/transport/control_transport.hpp"
#include "comm/transport/row_transport.hpp"

namespace dbench::comm {

/// Both transports connect the same ranks. Each may be wrapped in a forwarding transport (that
/// delays, counts or fails messages), and the two may come from different libraries.
struct Membership {
    int rank = 0, size = 1;
    int local_rank = 0, local_size = 1;  ///< Among the ranks of this host.
    std::string host;
    std::vector<int> slots;  ///< Per rank: its number at the transport. Empty: the same numbers.
    std::unique_ptr<ControlTransport> control;  ///< Destroyed last of the two transports.
    std::unique_ptr<RowTransport> rows;
    /// The place where this rank computes. Its queues must outlive this object.
    arena::Place place;

    /// Returns this rank's number at the transport.
    int slot() const { return slots.empty() ? rank : slots[static_cast<size_t>(rank)]; }
};

}  // namespace dbench::comm
