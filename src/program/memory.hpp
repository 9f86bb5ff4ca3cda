#pragma once
// Error messages about too little memory, with the memory that a run needs and that the machine
// has.

#include <cstdint>
#include <exception>
#include <string>

#include "train/device/device.hpp"

namespace dbench::program {

/// True if `error` reports a failed allocation (LibTorch has its own exceptions for this).
bool is_out_of_memory(const std::exception& error);

/// The memory that a rank needs, and the device on which it needs it.
struct MemoryNeed {
    int64_t bytes = 0;                      ///< a lower bound; 0 if unknown
    const train::Device* device = nullptr;  ///< null: the host
};
/// Returns the message for an error for which is_out_of_memory is true.
std::string memory_message(const std::exception& error, const MemoryNeed& need = {});

/// Explains why a run cannot fit into memory, or returns "" if it can. A run cannot fit if the
/// `ranks` on this host together need more than the machine's memory and swap (the system would
/// kill one of them without a message), or if a rank needs more than its GPU has.
std::string memory_obstacle(const MemoryNeed& need, int ranks);

}  // namespace dbench::program
