// Ring graphs, all arithmetic mod n. They are circulant and therefore regular, with uniform
// weights 1 / (degree + 1).
//
//     ring           i exchanges with i - 1 and i + 1
//     one_way_ring   i sends to i + 1
//     ring_lattice   i exchanges with i - k/2 .. i + k/2 (Watts and Strogatz 1998 without
//                    rewiring); k is even; complete from k = n - 1 on

#include <nlohmann/json.hpp>

#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

std::unique_ptr<Schedule> make_ring(const base::Json& spec, const GraphContext& context,
                                    const std::string& pointer) {
    return weighted_graph(ring_topology(context.n), spec, pointer);
}

std::unique_ptr<Schedule> make_one_way(const base::Json& spec, const GraphContext& context,
                                       const std::string& pointer) {
    return weighted_graph(circulant(context.n, {1}), spec, pointer);
}

std::unique_ptr<Schedule> make_lattice(const base::Json& spec, const GraphContext& context,
                                       const std::string& pointer) {
    const int64_t k = even_neighbours(spec, pointer);
    return weighted_graph(ring_lattice_topology(context.n, k), spec, pointer);
}

}  // namespace

int64_t even_neighbours(const base::Json& spec, const std::string& pointer) {
    const auto k = spec.at("k").get<int64_t>();
    if (k % 2 != 0) {
        throw base::UserError(pointer + "/k: " + std::to_string(k) +
                              " is odd (a ring lattice has k/2 neighbours on either side): use " +
                              std::to_string(k - 1) + " or " + std::to_string(k + 1));
    }
    return k;
}

TopologyPtr ring_topology(int n) { return circulant(n, {1, -1}); }

TopologyPtr ring_lattice_topology(int n, int64_t k) {
    if (k >= n - 1) return complete_topology(n);
    std::vector<int64_t> offsets;
    for (int64_t o = 1; o <= k / 2; ++o) {
        offsets.push_back(o);
        offsets.push_back(-o);
    }
    return circulant(n, offsets);
}

GraphEntry ring_entry() {
    return graph_entry("ring", "neighbours i-1 and i+1", with_weights({}), make_ring);
}

GraphEntry one_way_ring_entry() {
    return graph_entry("one_way_ring", "i sends to i+1 (directed)", with_weights({}), make_one_way);
}

GraphEntry ring_lattice_entry() {
    return graph_entry(
        "ring_lattice", "k/2 neighbours on either side; complete from k = n-1",
        with_weights(
            {base::Parameter::integer("k", "4", "neighbours, an even number").at_least(2)}),
        make_lattice);
}

}  // namespace dbench::graphs
