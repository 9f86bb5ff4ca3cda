#pragma once
// Finds out from the environment how this process was started, and makes the transports for it.

#include <string>

#include "base/error.hpp"
#include "comm/transport/membership.hpp"

namespace dbench::comm {

/// The launcher started several processes, but MPI did not connect them. The text names the
/// launcher's variable and a launcher that connects them.
class Unconnected : public base::UserError {
public:
    using base::UserError::UserError;
};

/// Returns true if the environment shows that an MPI launcher started this process (mpirun, or srun
/// with PMI or PMIx).
bool launched_by_mpi();

/// Returns the choice of srun --mpi= that connects processes of an MPI library, which is given by
/// its version text.
std::string srun_plugin(const std::string& library);

/// Joins the group in which this process was launched: MPI's (MPI_Init_thread) if MPI launched it,
/// else a group of its own, without calling MPI. Once per process. Throws UserError if a time limit
/// in the environment is not a number, or if MPI lacks the required thread level. Throws
/// Unconnected if this process is alone although its launcher started several.
Membership launch();

/// Ends the process at once, without destructors of static objects. Runs only the exit handlers of
/// MPI: MPICH tells its launcher in such a handler that it has finalized, and the launcher kills
/// all ranks if a process ends without this notice.
[[noreturn]] void leave(int status);

/// Returns a group of one rank, however this process was started. Any number of such groups may
/// exist.
Membership alone();

}  // namespace dbench::comm
