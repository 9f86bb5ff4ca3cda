#pragma once
// The libraries that carry messages.

#include <string>

namespace dbench::comm {

std::string mpi_version();   ///< the library's own name for itself, first line
std::string nccl_version();  ///< "2.27.3", or "not built"

}  // namespace dbench::comm
