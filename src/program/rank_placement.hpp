#pragma once
// Numbers the ranks of a run by the placement in its spec (docs/spec.md).

#include <optional>
#include <string>

#include "program/prepare_run.hpp"

namespace dbench::program {

/// Renumbers the ranks by the spec's placement. Returns nothing if the ranks keep the launcher's
/// numbers. Precondition: the session is not connected yet. Collective; throws UserError on all
/// ranks.
std::optional<RankPlacement> place_ranks(comm::World& world, const PreparedRun& setup);

/// Describes the result of place_ranks for people. Precondition: `setup.rank_placement` holds a
/// value.
std::string placement_text(const PreparedRun& setup);

}  // namespace dbench::program
