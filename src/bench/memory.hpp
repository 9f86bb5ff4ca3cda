#pragma once
// Memory that runs out, said with what is needed and what is there.

#include <cstdint>
#include <exception>
#include <string>

namespace dbench::bench {

/// Whether this is what an allocation that failed throws (LibTorch has an exception of its own).
bool is_out_of_memory(const std::exception& error);

/// `needed`: bytes that this rank needs at least; 0 where that is not known.
std::string memory_message(int64_t needed);

/// Throws UserError where `ranks` of this host together need more than the machine has at all: the
/// system would kill one of them without a word.
void check_memory(int64_t needed, int ranks);
/// The same where a rank needs more than the `all` bytes of its card, called `name`.
void check_memory(int64_t needed, int64_t all, const std::string& name);

}  // namespace dbench::bench
