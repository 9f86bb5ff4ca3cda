#include "comm/versions.hpp"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // Open MPI's extensions
#endif

#include "base/error.hpp"
#include "comm/nccl/nccl_api.hpp"

#if DBENCH_NCCL
#include <nccl.h>
#endif

namespace dbench::comm {

std::string mpi_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string name(text, length);
    return name.substr(0, name.find_first_of(",\n"));
}

#ifdef MPIX_CUDA_AWARE_SUPPORT
bool mpi_reads_gpu_memory() { return MPIX_Query_cuda_support() == 1; }

std::string mpi_status() {
    return mpi_version() + (mpi_reads_gpu_memory() ? ", CUDA-aware" : ", not CUDA-aware");
}
#else
bool mpi_reads_gpu_memory() { return false; }

std::string mpi_status() { return mpi_version() + ", does not say whether it is CUDA-aware"; }
#endif

#if DBENCH_NCCL
std::string nccl_version() {
    int version = 0;
    if (ncclGetVersion(&version) != ncclSuccess) return "built, version unknown";
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}
#else
std::string nccl_version() { return "not built"; }
#endif

std::string nccl_status() {
#if DBENCH_NCCL
    return nccl_version();
#else
    std::string here = "none";
    try {
        here = version_text(load_nccl());
    } catch (const base::UserError&) {
    }
    return nccl_version() + ", " + here + " on this machine";
#endif
}

}  // namespace dbench::comm
