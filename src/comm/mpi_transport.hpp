#pragma once
// The ranks of an MPI launch.

#include "comm/transport.hpp"

namespace dbench::comm {

/// One rank of MPI_COMM_WORLD, and where it runs.
struct MpiMembership {
    std::unique_ptr<Transport> transport;
    std::string host;
    int local_rank, local_size;
};

/// Joins MPI_COMM_WORLD: starts MPI unless the caller has (then it also stays the caller's to
/// finalize). Messages longer than `piece` bytes travel in pieces: an MPI count is an int, and a
/// piece is what one call into MPI may copy while others wait for it. Throws UserError where MPI
/// lacks the thread level that is needed.
MpiMembership join_mpi(int64_t piece = int64_t{4} << 20);

}  // namespace dbench::comm
