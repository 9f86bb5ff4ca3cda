#pragma once  // Private to comm/transport.
// The transports of an MPI launch.

#include <cstdint>

#include "comm/transport/membership.hpp"

namespace dbench::comm {

/// Joins MPI_COMM_WORLD. Starts MPI unless the caller has started it; then the caller also
/// finalizes it. Uses three communicators (rows, texts of the control transport, control messages)
/// and a fourth for a moment, to find the ranks of this host. Splits messages into pieces of at
/// most `piece` bytes: an MPI count is an int, and other threads wait while one MPI call copies a
/// piece. A World needs pieces of at least 1 MiB: its collectives receive texts of unknown length.
/// Throws UserError if MPI lacks the required thread level.
Membership join_mpi(int64_t piece = int64_t{4} << 20);

/// If join_mpi started MPI and MPI has been finalized, ends the process after MPI's exit handlers,
/// without those that were registered before. Otherwise returns.
void leave_mpi(int status);

}  // namespace dbench::comm
