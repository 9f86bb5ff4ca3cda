#include "comm/transport/launcher.hpp"

#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "comm/transport/local_transports.hpp"
#include "comm/transport/mpi_transports.hpp"
#include "comm/wait.hpp"

namespace dbench::comm {
namespace {

/// Throws UserError if srun without a PMI plugin started several processes: they do not know each
/// other.
void refuse_step_without_mpi() {
    const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
    if (tasks && std::getenv("SLURM_PROCID") && std::atoi(tasks) > 1) {
        throw base::UserError("srun started " + std::string(tasks) +
                              " tasks without MPI (no PMI in the environment): try srun --mpi=pmix "
                              "or srun --mpi=pmi2, or start one task");
    }
}

}  // namespace

bool launched_by_mpi() {
    const auto set = [](const char* name) { return std::getenv(name) != nullptr; };
    // mpirun of Open MPI; of MPICH and Intel MPI; of MVAPICH.
    if (set("OMPI_COMM_WORLD_SIZE") || set("MPI_LOCALNRANKS") || set("MV2_COMM_WORLD_SIZE")) {
        return true;
    }
    // srun or another resource manager. A step of one task is a process alone, even if the manager
    // offers PMI to it.
    const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
    if (tasks && std::string(tasks) == "1") return false;
    return set("PMIX_RANK") || set("PMI_RANK") || set("PMI_SIZE") || set("PMI_FD");
}

Membership launch() {
    timeout();  // throws now if the environment is wrong, before MPI starts
    stop_timeout();
    if (!launched_by_mpi()) {
        refuse_step_without_mpi();
        return alone();
    }
    Membership member = join_mpi();
    shorten_sleeps();
    return member;
}

void leave(int status) {
    leave_mpi(status);
    std::_Exit(status);
}

Membership alone() { return join_local(local_group(1), 0); }

}  // namespace dbench::comm
