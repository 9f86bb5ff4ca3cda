#pragma once
// The inputs of a run: digests of the data and files that it reads. All ranks must read the same,
// and a resumed run must read what it read before.

#include <string>
#include <vector>

#include "base/input_digest.hpp"
#include "base/json.hpp"
#include "comm/world/world.hpp"
#include "train/run/session.hpp"

namespace dbench::program {

/// Returns the digests of all files of the graph and of the model and of all data, and the sizes
/// that follow from the data, as a JSON array of objects: "key" (of the spec), "name", "value" (a
/// digest or a size), "bytes" and "path" (both only if known).
base::Json inputs_of(const std::vector<base::InputDigest>& graph, const train::Session& session);

/// Compares the inputs and the programs of all ranks. Throws UserError on all ranks if they differ;
/// the message names ranks, hosts and files. Collective.
void require_same_inputs(comm::World& world, const base::Json& inputs);

/// Returns the inputs that a checkpoint recorded, from CheckpointHead::inputs; null if there are
/// none.
base::Json parsed_inputs(const std::string& text);

/// Returns the inputs that a result file recorded, from its provenance; null if there are none.
/// Files of earlier versions recorded only the names and digests of data.
base::Json recorded_inputs(const std::string& provenance);

/// Returns in words how `now` differs from `then`, both as inputs_of returns them: "" if it does
/// not. Inputs of earlier versions are compared as far as they were recorded.
std::string input_changes(const base::Json& then, const base::Json& now);

}  // namespace dbench::program
