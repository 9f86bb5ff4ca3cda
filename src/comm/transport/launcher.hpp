#pragma once
// How this process was started, read off the environment, and the transports that follow from it.

#include "comm/transport/membership.hpp"

namespace dbench::comm {

/// Whether this process was started by an MPI launcher (mpirun, srun with PMI/PMIx), by its
/// environment.
bool launched_by_mpi();

/// Joins the group that this process was launched in: MPI's (MPI_Init_thread) if it was launched by
/// MPI, else a group of its own, without touching MPI. Once per process. Throws UserError where a
/// limit of waiting in the environment is no number, where MPI lacks the thread level that is
/// needed, and where srun has started several tasks that know nothing of each other.
Membership launch();

/// Ends the process at once, without the destructors of what is static, but for what MPI has left
/// to the end of the process: MPICH says to its launcher only there that it has finalized, and the
/// launcher kills the other ranks of a process that ends without this word.
[[noreturn]] void leave(int status);

/// A group of one, however this process was started; any number of them may live at a time.
Membership alone();

}  // namespace dbench::comm
