#pragma once
// The end of a job on all ranks after one rank has failed.

#include <exception>
#include <string>

#include "comm/world/world.hpp"

namespace dbench::program {

/// True if the command, spec, data or environment caused the error, on this rank or on the one that
/// reported it.
bool is_user_error(const std::exception& error);

/// Prints the error, tells rank 0, and ends the job on all ranks, with the exit status for the kind
/// of error. Needed where other ranks may wait for messages of this rank, so that they cannot agree
/// on the error (comm::run_together). Rank 0 then prints `remark` as a warning unless it is empty.
[[noreturn]] void abort_job(comm::World& world, const std::string& message, bool user_error,
                            const std::string& remark = "");

}  // namespace dbench::program
