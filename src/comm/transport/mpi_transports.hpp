#pragma once
// The ranks of an MPI launch.

#include <cstdint>

#include "comm/transport/membership.hpp"

namespace dbench::comm {

/// Joins MPI_COMM_WORLD: starts MPI unless the caller has (then it also stays the caller's to
/// finalize). Three communicators: rows, the texts of control, control_messages; one more for a
/// moment, to learn who shares this host. Messages longer than `piece` bytes travel in pieces: an
/// MPI count is an int, and a piece is what one call into MPI may copy while others wait for it.
/// Throws UserError where MPI lacks the thread level that is needed.
Membership join_mpi(int64_t piece = int64_t{4} << 20);

/// Where join_mpi has started MPI and it has ended well, ends the process with what MPI has
/// registered for the exit, and nothing that was registered earlier. Else returns.
void leave_mpi(int status);

}  // namespace dbench::comm
