#pragma once
// A run that goes on from what an earlier start has left: its result file and checkpoints.

#include <cstdint>
#include <optional>
#include <string>

#include "comm/world/world.hpp"
#include "program/setup.hpp"
#include "train/checkpoints/checkpoint.hpp"

namespace dbench::bench {

/// Whether what was done on one device goes on on another one: not of the same kind, since numbers
/// differ from host to host. False where nobody knows.
bool is_other_device(const std::string& earlier, const Setup& s);

/// What stands where the result is to go: its status, empty where nothing does. With --resume it is
/// to be of this very spec. Collective; throws UserError.
std::string status_of_output(comm::World& world, const Setup& s);

/// The checkpoint to go on from. Collective; throws UserError.
std::optional<train::CheckpointHead> find_checkpoint(comm::World& world, const Setup& s,
                                                     train::Checkpoints& checkpoints,
                                                     const std::string& status);

/// Keeps other runs from the checkpoints. Those of a run whose file is not where it was are not
/// removed unasked. Collective; throws UserError.
void claim_checkpoints(comm::World& world, const RunArguments& arguments, const Setup& s,
                       train::Checkpoints& checkpoints);

/// Keeps the file of a run that goes on with other replicas: what it says of single ones is not
/// taken over. Throws UserError.
void keep_earlier_file(const std::string& output, int64_t iteration);

}  // namespace dbench::bench
