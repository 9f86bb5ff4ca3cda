#include "comm/transport/launcher.hpp"

#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "comm/read_in_place.hpp"
#include "comm/transport/local_transports.hpp"
#include "comm/transport/mpi_transports.hpp"
#include "comm/versions.hpp"
#include "comm/wait.hpp"

namespace dbench::comm {
namespace {

/// The number of processes that the launcher says it started, and the variable that says it.
struct Launched {
    int processes = 1;
    std::string variable;
};

/// Reads the launcher's variables. They are in this order because a launcher may run within a step
/// of Slurm, whose variables its processes inherit.
Launched launched() {
    const auto number = [](const char* name) {
        const char* text = std::getenv(name);
        return text ? std::atoi(text) : 0;
    };
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE"}) {
        if (const int count = number(name); count > 0) return {count, name};
    }
    if (const int count = number("MPI_LOCALNRANKS"); count > 1) return {count, "MPI_LOCALNRANKS"};
    if (const int count = number("SLURM_STEP_NUM_TASKS");
        count > 0 && std::getenv("SLURM_PROCID")) {
        return {count, "SLURM_STEP_NUM_TASKS"};
    }
    // These have no variable for the number of processes, but it is larger than each rank.
    for (const char* name : {"PMIX_RANK", "PMI_RANK"}) {
        if (const int rank = number(name); rank > 0) return {rank + 1, name};
    }
    return {};
}

/// True if a launcher offers PMIx. It is read before main, because MPI_Init of a single process
/// sets the variable, too.
const bool started_by_pmix = std::getenv("PMIX_RANK") != nullptr;

/// Names a launcher that connects processes of this program's MPI library. It does not recommend
/// what the environment shows to have failed.
std::string remedy() {
    const auto set = [](const char* name) { return std::getenv(name) != nullptr; };
    const std::string library = mpi_version(), plugin = srun_plugin(library);
    const bool open_mpi = plugin == "pmix";
    const std::string start = open_mpi ? "mpirun" : "mpiexec";
    const bool tried =
        open_mpi ? started_by_pmix : plugin == "pmi2" && (set("PMI_FD") || set("PMI_SIZE"));
    std::string text =
        "start the ranks with the " + start + " of " + library + ", with which dbench was built";
    if (set("SLURM_JOB_ID") && !tried) {
        text += ", or with srun --mpi=" + plugin + " if srun --mpi=list names " + plugin;
    }
    return text + "; or start one process";
}

/// Throws Unconnected if the launcher started more than this one process.
void refuse_if_unconnected() {
    const Launched all = launched();
    if (all.processes <= 1) return;
    const bool least = all.variable.ends_with("RANK") || all.variable == "MPI_LOCALNRANKS";
    throw Unconnected(
        "the launcher started " + std::string(least ? "at least " : "") +
        std::to_string(all.processes) + " processes (" + all.variable + "=" +
        std::getenv(all.variable.c_str()) +
        "), but MPI did not connect them: each would train everything alone: " + remedy());
}

}  // namespace

std::string srun_plugin(const std::string& library) {
    if (library.starts_with("Open MPI")) return "pmix";
    return library.find("CRAY MPICH") != library.npos ? "cray_shasta" : "pmi2";
}

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
    static_cast<void>(reading_in_place_disabled());
    if (!launched_by_mpi()) {
        refuse_if_unconnected();
        return alone();
    }
    Membership member = join_mpi();
    if (member.size == 1) refuse_if_unconnected();
    shorten_sleeps();
    return member;
}

void leave(int status) {
    leave_mpi(status);
    std::_Exit(status);
}

Membership alone() { return join_local(local_group(1), 0); }

}  // namespace dbench::comm
