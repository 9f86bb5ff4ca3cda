#pragma once
// Rows from card to card, by NCCL: one communicator of all ranks, on one stream of high priority.
// Messages lie in memory that the card reads.
//
// A start is a group, whose sends and receives move beside each other. What is started moves in
// that order, and so does what is launched between (`queue`, row_plane.hpp): a rank with another
// order would wait for the others for ever. Tags do not travel, as NCCL takes the messages of a
// pair in their order; they are compared here: a start's are of one exchange, and exchanges start
// in the order of their numbers. The communicator does not block: what NCCL has not taken yet is
// waited for as everything else is. Where for two deadlines nothing has moved and no
// wait has said so, this process is held in a call of CUDA's, and ends.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arena/device/queue.hpp"
#include "comm/nccl/nccl_api.hpp"
#include "comm/transport/row_transport.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm {

/// What a rank computes on.
struct Card {
    std::string host;
    std::string id;  ///< among the host's: "0000:3b:00.0", where it sits on the bus
};

/// By rank. Throws UserError where two ranks have one card, which NCCL cannot connect.
void expect_own_cards(const std::vector<Card>& cards);

struct NcclParts {
    NcclApi nccl;
    CudaApi cuda;
    /// Makes the queue that launches kernels on a stream.
    std::function<std::unique_ptr<arena::Queue>(CudaStream* stream)> queue;
};

/// Connects the world's ranks, each with its card number `device`; the world has to live longer
/// than the transport, which it may carry rows with (World::carry_rows). Collective. Throws
/// UserError on all ranks where two have one card; RunError where CUDA or NCCL fail; Stalled.
std::unique_ptr<RowTransport> join_nccl(World& world, NcclParts parts, int device);

}  // namespace dbench::comm
