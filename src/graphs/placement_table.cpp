#include "graphs/placement_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "graphs/table_file.hpp"

namespace dbench::graphs {

using base::Json;
using base::Parameter;

namespace {

using Context = PlacementContext;

struct OptimisedSpec {
    std::string links;  ///< Path of a file, or "measured": `Context::links` are those links.

    static const base::Section<OptimisedSpec>& section();
};

const base::Section<OptimisedSpec>& OptimisedSpec::section() {
    static const base::Section<OptimisedSpec> keys{
        {Parameter::text("links", "\"measured\"",
                         "a file of links (dbench doctor --links); measured: at the start"),
         &OptimisedSpec::links},
    };
    return keys;
}

struct SlotFileSpec {
    std::string path;

    static const base::Section<SlotFileSpec>& section();
};

const base::Section<SlotFileSpec>& SlotFileSpec::section() {
    static const base::Section<SlotFileSpec> keys{
        {Parameter::text("path", "", "whole numbers, the slots of ranks 0, 1, ..."),
         &SlotFileSpec::path},
    };
    return keys;
}

Slots place_linear(const base::NoKeys&, const Context& c) {
    return linear_placement(c.traffic.ranks);
}
Slots place_node_major(const base::NoKeys&, const Context& c) {
    return node_major_placement(c.hosts);
}
Slots place_random(const base::NoKeys&, const Context& c) {
    return random_placement(c.traffic.ranks, c.seed);
}
Slots place_optimised(const OptimisedSpec&, const Context& c) {
    return cheapest_placement(c.traffic, *c.links, c.row_bytes, c.seed);
}
Slots place_by_file(const SlotFileSpec& spec, const Context& c) {
    return read_placement(spec.path, c.traffic.ranks);
}

}  // namespace

const std::vector<PlacementEntry>& placement_table() {
    static const std::vector<PlacementEntry> all = {
        {"linear", "rank r on slot r, as the launcher numbers them", place_linear},
        {"node_major", "consecutive ranks on different hosts", place_node_major},
        {"random", "ranks on slots at random, by the seed of graphs", place_random},
        {"optimised", "the cheapest placement found for the graph, by the links between slots",
         place_optimised},
        {"file", "the slot of each rank from a file", place_by_file},
    };
    return all;
}

Json resolve_placement(const Json& given, const std::string& pointer) {
    return base::resolve_member(given, pointer, "placement", base::entries_of(placement_table()));
}

Slots node_major_placement(const std::vector<std::string>& hosts) {
    std::map<std::string, int> number, seen;
    std::vector<std::pair<int, int>> order;  // per slot: its index on its host, index of the host
    for (const std::string& host : hosts) {
        const int of_host = number.emplace(host, static_cast<int>(number.size())).first->second;
        order.emplace_back(seen[host]++, of_host);
    }
    Slots slots = linear_placement(static_cast<int>(hosts.size()));
    std::sort(slots.begin(), slots.end(), [&](int a, int b) { return order[a] < order[b]; });
    return slots;
}

Slots read_placement(const std::string& path, int ranks) {
    Slots slots;
    std::vector<bool> taken(static_cast<size_t>(ranks), false);
    for (const auto& row : read_numbers(path, "write the number of a slot for each rank")) {
        for (const double value : row) {
            const std::string name = base::short_text(Json(value));
            if (value != std::floor(value) || value < 0 || value >= ranks) {
                throw base::UserError(path + ": " + name + " is not a slot (slots are 0 to " +
                                      std::to_string(ranks - 1) + ", one for each of " +
                                      std::to_string(ranks) + " ranks)");
            }
            const auto slot = static_cast<size_t>(value);
            if (taken[slot]) {
                throw base::UserError(path + ": slot " + std::to_string(slot) +
                                      " is given twice: give every rank its own slot");
            }
            taken[slot] = true;
            slots.push_back(static_cast<int>(slot));
        }
    }
    if (static_cast<int>(slots.size()) != ranks) {
        throw base::UserError(path + ": has " + std::to_string(slots.size()) + " slots for " +
                              std::to_string(ranks) +
                              " ranks: write one for each rank, or start as many ranks");
    }
    return slots;
}

}  // namespace dbench::graphs
