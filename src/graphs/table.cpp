#include <nlohmann/json.hpp>

#include "graphs/families.hpp"

namespace dbench::graphs {

const std::vector<GraphEntry>& graph_table() {
    static const std::vector<GraphEntry> table = {
        ring_entry(),     torus_entry(),        exponential_entry(), one_peer_exponential_entry(),
        complete_entry(), ring_lattice_entry(), star_entry(),        erdos_renyi_entry(),
    };
    return table;
}

std::unique_ptr<Schedule> make_graph(const base::Json& spec, const GraphContext& context,
                                     const std::string& pointer) {
    if (context.n < 1) throw base::UserError(pointer + ": a graph needs at least one replica");
    const auto& table = graph_table();
    const auto resolved = base::resolve_member(spec, pointer, "graph", base::entries_of(table));
    const auto* entry = base::find_row(table, resolved.at("type").get<std::string>());
    auto schedule = entry->make(resolved, context, pointer);
    // W = [1] whatever the definition; made all the same, so that a bad parameter is not let pass.
    if (context.n == 1) return always(constant_weights(complete_topology(1), 1.0));
    return schedule;
}

}  // namespace dbench::graphs
