#pragma once
// Finds out from the environment how this process was started, and makes the transports for it.

#include "comm/transport/membership.hpp"

namespace dbench::comm {

/// Returns true if the environment shows that an MPI launcher started this process (mpirun, or srun
/// with PMI or PMIx).
bool launched_by_mpi();

/// Joins the group in which this process was launched: MPI's (MPI_Init_thread) if MPI launched it,
/// else a group of its own, without calling MPI. Once per process. Throws UserError if a time limit
/// in the environment is not a number, if MPI lacks the required thread level, or if srun has
/// started several tasks without MPI.
Membership launch();

/// Ends the process at once, without destructors of static objects. Runs only the exit handlers of
/// MPI: MPICH tells its launcher in such a handler that it has finalized, and the launcher kills
/// all ranks if a process ends without this notice.
[[noreturn]] void leave(int status);

/// Returns a group of one rank, however this process was started. Any number of such groups may
/// exist.
Membership alone();

}  // namespace dbench::comm
