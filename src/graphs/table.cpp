#include <nlohmann/json.hpp>

#include "graphs/families.hpp"

namespace dbench::graphs {

const std::vector<GraphEntry>& graph_table() {
    static const std::vector<GraphEntry> table = {
        ring_entry(),
        one_way_ring_entry(),
        path_entry(),
        torus_entry(),
        grid_entry(),
        exponential_entry(),
        complete_entry(),
        star_entry(),
        ring_lattice_entry(),
        hypercube_entry(),
        erdos_renyi_entry(),
        random_regular_entry(),
        watts_strogatz_entry(),
        margulis_entry(),
        chordal_cycle_entry(),
        u_equistatic_entry(),
        d_equistatic_entry(),
        od_equidyn_entry(),
        ou_equidyn_entry(),
        tree_entry(),
        double_binary_tree_entry(),
        file_entry(),
        one_peer_exponential_entry(),
        one_peer_hypercube_entry(),
        p_peer_exponential_entry(),
        alternating_ring_entry(),
        shift_one_entry(),
        simple_base_k_entry(),
        base_k_entry(),
        hyper_hypercube_entry(),
        random_matching_entry(),
        epidemic_entry(),
        random_pairs_entry(),
        matcha_entry(),
        aer_entry(),
        hierarchical_entry(),
        participation_entry(),
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
