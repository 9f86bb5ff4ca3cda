// How this process was started, read off the environment: without a launcher, MPI is not touched.

#include <cstdlib>
#include <string>

#include "comm/world.hpp"

namespace dbench::comm {

bool launched_by_mpi() {
    const auto set = [](const char* name) { return std::getenv(name) != nullptr; };
    // mpirun of Open MPI; of MPICH and Intel MPI; of MVAPICH.
    if (set("OMPI_COMM_WORLD_SIZE") || set("MPI_LOCALNRANKS") || set("MV2_COMM_WORLD_SIZE")) {
        return true;
    }
    // srun, or another resource manager: a step of one task is a process alone, even if the manager
    // offers PMI to it.
    const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
    if (tasks && std::string(tasks) == "1") return false;
    return set("PMIX_RANK") || set("PMI_RANK") || set("PMI_SIZE") || set("PMI_FD");
}

}  // namespace dbench::comm
