// Ring graphs, all arithmetic mod n. They are circulant and therefore regular, with uniform
// weights 1 / (degree + 1).
//
//     ring           i exchanges with i - 1 and i + 1
//     one_way_ring   i sends to i + 1
//     ring_lattice   i exchanges with i - k/2 .. i + k/2 (Watts and Strogatz 1998 without
//                    rewiring); k is even; complete from k = n - 1 on

#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

std::unique_ptr<Schedule> make_ring(const WeightSpec& spec, const GraphContext& context,
                                    const std::string& pointer) {
    return weighted_graph(ring_topology(context.n), spec, pointer);
}

std::unique_ptr<Schedule> make_one_way(const WeightSpec& spec, const GraphContext& context,
                                       const std::string& pointer) {
    return weighted_graph(circulant(context.n, {1}), spec, pointer);
}

struct LatticeSpec : WeightSpec {
    int64_t k;  ///< Neighbours; even.

    static const base::Section<LatticeSpec>& section();
};

const base::Section<LatticeSpec>& LatticeSpec::section() {
    static const base::Section<LatticeSpec> keys{
        {{base::Parameter::integer("k", "4", "neighbours, an even number").at_least(2),
          &LatticeSpec::k}},
        WeightSpec::section()};
    return keys;
}

std::unique_ptr<Schedule> make_lattice(const LatticeSpec& spec, const GraphContext& context,
                                       const std::string& pointer) {
    require_even(spec.k, pointer);
    return weighted_graph(ring_lattice_topology(context.n, spec.k), spec, pointer);
}

}  // namespace

void require_even(int64_t k, const std::string& pointer) {
    if (k % 2 == 0) return;
    throw base::UserError(pointer + "/k: " + std::to_string(k) +
                          " is odd (a ring lattice has k/2 neighbours on either side): use " +
                          std::to_string(k - 1) + " or " + std::to_string(k + 1));
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

GraphEntry ring_entry() { return {"ring", "neighbours i-1 and i+1", make_ring}; }

GraphEntry one_way_ring_entry() {
    return {"one_way_ring", "i sends to i+1 (directed)", make_one_way};
}

GraphEntry ring_lattice_entry() {
    return {"ring_lattice", "k/2 neighbours on either side; complete from k = n-1", make_lattice};
}

}  // namespace dbench::graphs
