#pragma once
// The spec's `placement`: the table of rules that assign the ranks of a run to the slots that its
// launcher numbered.

#include <cstdint>
#include <string>
#include <vector>

#include "base/factory_entry.hpp"
#include "graphs/link_cost.hpp"

namespace dbench::graphs {

/// Facts about the run that a placement rule may use.
struct PlacementContext {
    const std::vector<std::string>& hosts;  ///< Host of each slot.
    const RankTraffic& traffic;
    double row_bytes;    ///< Bytes of one replica's parameters as a message.
    uint64_t seed;       ///< The spec's graph seed.
    const Links* links;  ///< Between slots; null if the entry uses no links.
};

/// A row of the table. `make(spec, context)` returns the slot of each rank. It throws UserError.
using PlacementEntry = base::FactoryEntry<Slots(const PlacementContext& context)>;
const std::vector<PlacementEntry>& placement_table();

/// Checks the spec's `placement` and fills in its defaults. Throws UserError.
base::Json resolve_placement(const base::Json& given, const std::string& pointer);

/// Places consecutive ranks on different hosts: first the first slot of each host, in the order in
/// which hosts appear, then the second slot of each, and so on.
Slots node_major_placement(const std::vector<std::string>& hosts);

/// Reads the slot of each rank from a file of whole numbers that holds each of 0 .. ranks - 1 once.
/// Throws UserError.
Slots read_placement(const std::string& path, int ranks);

}  // namespace dbench::graphs
