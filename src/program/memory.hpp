#pragma once
// Memory that runs out, said with what is needed and what is there.

#include <cstdint>
#include <exception>
#include <string>

#include "train/device/device.hpp"

namespace dbench::bench {

/// Whether this is what an allocation that failed throws (LibTorch has exceptions of its own).
bool is_out_of_memory(const std::exception& error);

/// What a rank takes, and where.
struct MemoryNeed {
    int64_t bytes = 0;                      ///< at least; 0 where that is not known
    const train::Device* device = nullptr;  ///< null: the host
};
/// What to say of an error that is_out_of_memory: of the host's or the card's.
std::string memory_message(const std::exception& error, const MemoryNeed& need = {});

/// Why this cannot be: `ranks` of this host together need more than the machine has at all, and the
/// system would kill one of them without a word, or a rank more than its card has; "" where it can.
std::string memory_obstacle(const MemoryNeed& need, int ranks);

}  // namespace dbench::bench
