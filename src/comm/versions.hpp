#pragma once
// Names and versions of the communication libraries, for logs and result files.

#include <string>

namespace dbench::comm {

std::string mpi_version();  ///< The first line of the MPI library's own version text.
/// Returns mpi_version() and whether the library can read GPU memory: "Open MPI v4.1.4, not
/// CUDA-aware".
std::string mpi_status();
/// Returns true if MPI reports that it can read GPU memory. Open MPI's answer respects its
/// parameter opal_cuda_support.
bool mpi_reads_gpu_memory();
std::string nccl_version();  ///< "2.27.3", or "not built".
/// Returns nccl_version(). If this build has no NCCL, also loads the machine's NCCL and appends its
/// version: "not built, 2.28.9 on this machine".
std::string nccl_status();

}  // namespace dbench::comm
