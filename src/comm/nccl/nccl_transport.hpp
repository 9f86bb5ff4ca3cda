#pragma once
// Rows from GPU to GPU by NCCL: one communicator of all ranks, on one CUDA stream of high priority.
// Messages are stored in memory that the GPU reads.
//
// A start is an NCCL group, whose sends and receives move concurrently. Starts move in the order in
// which they were made, and so do the launches between them (`queue`, transport/row_transport.hpp):
// a rank with another order would wait for the others forever. NCCL sends no tags and matches the
// messages of a pair by their order, so this transport checks that the tags of successive messages
// never decrease: exchanges must start in the order of their numbers.
//
// The communicator is non-blocking: waits for calls that NCCL has not accepted yet are ordinary
// waits with a deadline. If nothing has moved for two deadlines and no wait has reported it, the
// process is blocked inside a CUDA call; StallWatch then ends it.

#include <memory>
#include <string>
#include <vector>

#include "comm/nccl/nccl_api.hpp"
#include "comm/transport/row_transport.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm {

/// The GPU on which a rank computes.
struct RankGpu {
    std::string host;
    std::string id;  ///< The GPU's position on the host's bus: "0000:3b:00.0".
};

/// Throws UserError if two ranks use the same GPU, which NCCL cannot connect. One entry per rank.
void require_distinct_gpus(const std::vector<RankGpu>& gpus);

/// Connects the world's ranks, each with its GPU number `device`. The world must outlive the
/// transport, which it can use for rows (World::use_row_transport). Collective. Throws UserError on
/// all ranks if two of them use the same GPU, RunError if CUDA or NCCL fails, and Stalled.
std::unique_ptr<RowTransport> join_nccl(World& world, NcclParts parts, int device);

}  // namespace dbench::comm
