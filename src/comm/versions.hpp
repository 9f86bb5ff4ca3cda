#pragma once
// The libraries that carry messages.

#include <string>

namespace dbench::comm {

std::string mpi_version();  ///< the library's own name for itself, first line
/// The same, and whether it reads the memory of cards: "Open MPI v4.1.4, not CUDA-aware".
std::string mpi_status();
/// Whether it says that it does; Open MPI's answer heeds its parameter opal_cuda_support.
bool mpi_reads_cards();
std::string nccl_version();  ///< "2.27.3", or "not built"
/// The same; where it is not built with what this machine has, which is loaded: "not built, 2.28.9
/// on this machine".
std::string nccl_status();

}  // namespace dbench::comm
