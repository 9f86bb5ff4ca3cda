#pragma once
// The spec's `placement`: how the ranks of a run are put on the slots that its launcher has
// numbered.

#include <cstdint>
#include <string>
#include <vector>

#include "base/family.hpp"
#include "graphs/link_cost.hpp"

namespace dbench::graphs {

/// What is known when ranks are placed.
struct PlacementContext {
    const std::vector<std::string>& hosts;  ///< of each slot
    const RankTraffic& traffic;
    double row_bytes;    ///< of one replica's parameters as a message
    uint64_t seed;       ///< the spec's graph seed
    const Links* links;  ///< between slots; null where the entry takes none
};

/// A row of the table. `make` gets the resolved object, and gives the slot of each rank; throws
/// UserError.
struct PlacementEntry : base::Entry {
    Placement (*make)(const base::Json& spec, const PlacementContext& context);
};
const std::vector<PlacementEntry>& placement_table();

/// The spec's `placement`, checked and completed. Throws UserError.
base::Json resolve_placement(const base::Json& given, const std::string& pointer);

/// Consecutive ranks on different hosts: the first slot of each, in the order in which hosts
/// appear, then the second of each, ...
Placement node_major_placement(const std::vector<std::string>& hosts);

/// The slot of each rank from a file of whole numbers, each of 0 .. ranks - 1 once. Throws
/// UserError.
Placement read_placement(const std::string& path, int ranks);

}  // namespace dbench::graphs
