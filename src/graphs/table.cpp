#include <nlohmann/json.hpp>

#include "graphs/schedules/staged.hpp"
#include "graphs/types/families.hpp"

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
        ada_entry(),
        ada_variance_entry(),
        consensus_control_entry(),
        budget_entry(),
    };
    return table;
}

base::Json resolve_graph(const base::Json& spec, const std::string& pointer) {
    const auto entries = base::entries_of(graph_table());
    if (!spec.is_array()) return base::resolve_member(spec, pointer, "graph", entries);
    if (spec.empty()) throw base::UserError(pointer + ": an empty list: name at least one graph");
    base::Json list = base::Json::array();
    for (size_t k = 0; k < spec.size(); ++k) {
        const std::string here = pointer + "/" + std::to_string(k);
        const bool last = k + 1 == spec.size();
        base::Json graph = spec[k];
        const bool ends = graph.is_object() && graph.contains("until");
        if (ends == last) {
            throw base::UserError(
                here + (last ? "/until: the last graph of a list lasts to the end of the run: "
                               "remove it"
                             : ": has no \"until\" (when the next graph of the list takes over), "
                               "such as {\"epochs\": 10}"));
        }
        base::Json until;
        if (ends) {
            until = base::resolve_object({{"until", graph["until"]}}, here,
                                         {base::Parameter::duration("until", "", "")})
                        .at("until");
            graph.erase("until");
        }
        graph = base::resolve_member(graph, here, "graph", entries);
        if (ends) graph["until"] = until;
        list.push_back(std::move(graph));
    }
    return list;
}

bool depends_on_run(const base::Json& resolved) {
    if (resolved.is_null()) return false;
    return resolved.is_array() ||
           base::find_row(graph_table(), resolved.at("type").get<std::string>())->depends_on_run;
}

std::unique_ptr<Schedule> make_graph(const base::Json& spec, const GraphContext& context,
                                     const std::string& pointer) {
    if (context.n < 1) throw base::UserError(pointer + ": a graph needs at least one replica");
    const base::Json resolved = resolve_graph(spec, pointer);
    auto schedule = resolved.is_array()
                        ? make_list(resolved, context, pointer)
                        : base::find_row(graph_table(), resolved.at("type").get<std::string>())
                              ->make(resolved, context, pointer);
    // W = [1] whatever the definition; made all the same, so that a bad parameter is not let pass.
    if (context.n == 1) return always(constant_weights(complete_topology(1), 1.0));
    return schedule;
}

}  // namespace dbench::graphs
