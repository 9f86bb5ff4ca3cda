// The graph table, and the functions that resolve and build a graph of a spec.

#include <nlohmann/json.hpp>

#include "graphs/schedules/staged.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {

// In the order of the documentation; each row, NAME_entry(), is defined in the file of its graph.
#define DBENCH_GRAPHS(ROW)    \
    ROW(ring)                 \
    ROW(one_way_ring)         \
    ROW(path)                 \
    ROW(torus)                \
    ROW(grid)                 \
    ROW(exponential)          \
    ROW(complete)             \
    ROW(star)                 \
    ROW(ring_lattice)         \
    ROW(hypercube)            \
    ROW(erdos_renyi)          \
    ROW(random_regular)       \
    ROW(watts_strogatz)       \
    ROW(margulis)             \
    ROW(chordal_cycle)        \
    ROW(u_equistatic)         \
    ROW(d_equistatic)         \
    ROW(od_equidyn)           \
    ROW(ou_equidyn)           \
    ROW(tree)                 \
    ROW(double_binary_tree)   \
    ROW(file)                 \
    ROW(one_peer_exponential) \
    ROW(one_peer_hypercube)   \
    ROW(p_peer_exponential)   \
    ROW(alternating_ring)     \
    ROW(shift_one)            \
    ROW(simple_base_k)        \
    ROW(base_k)               \
    ROW(hyper_hypercube)      \
    ROW(random_matching)      \
    ROW(epidemic)             \
    ROW(random_pairs)         \
    ROW(matcha)               \
    ROW(aer)                  \
    ROW(hierarchical)         \
    ROW(participation)        \
    ROW(ada)                  \
    ROW(ada_variance)         \
    ROW(consensus_control)    \
    ROW(budget)

#define ROW_DECLARED(name) GraphEntry name##_entry();
#define ROW_MADE(name) name##_entry(),
DBENCH_GRAPHS(ROW_DECLARED)

const std::vector<GraphEntry>& graph_table() {
    static const std::vector<GraphEntry> table = {DBENCH_GRAPHS(ROW_MADE)};
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
           base::find_entry(graph_table(), resolved.at("type").get<std::string>())->depends_on_run;
}

std::unique_ptr<Schedule> make_graph(const base::Json& spec, const GraphContext& context,
                                     const std::string& pointer) {
    if (context.n < 1) throw base::UserError(pointer + ": a graph needs at least one replica");
    const base::Json resolved = resolve_graph(spec, pointer);
    auto schedule = resolved.is_array()
                        ? make_list(resolved, context, pointer)
                        : base::find_entry(graph_table(), resolved.at("type").get<std::string>())
                              ->make(resolved, context, pointer);
    // With one replica W = [1] for every graph. The graph is built anyway so that a bad parameter
    // is reported.
    if (context.n == 1) return static_schedule(constant_weights(complete_topology(1), 1.0));
    return schedule;
}

}  // namespace dbench::graphs
