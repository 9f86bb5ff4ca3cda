#pragma once
// Puts the ranks of a run where its spec says.

#include <optional>
#include <string>

#include "program/setup.hpp"

namespace dbench::bench {

/// Numbers the ranks by the spec's placement, for a session that is not connected yet. Nothing
/// where they stay as the launcher has them. Collective; throws UserError on all ranks.
std::optional<Placed> place(comm::World& world, const Setup& setup);

/// What `place` has found, for people.
std::string placement_text(const Setup& setup);

}  // namespace dbench::bench
