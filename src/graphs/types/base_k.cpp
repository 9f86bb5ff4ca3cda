// The graphs `hyper_hypercube`, `simple_base_k` and `base_k`: sequences that average exactly after
// few rounds with at most k peers (Takezawa et al. 2023, arXiv 2305.11420). base_graph.cpp computes
// the rounds. Parameters: k, lazy.
//
//     hyper_hypercube   n = n_1 ... n_L, n_l <= k + 1, smallest L: round l averages i + s m,
//                       s = 0..n_l - 1, m = n_1 ... n_{l-1}, with weights 1 / n_l (H_k)
//     simple_base_k     Simple Base-(k+1), any n: V cut by the digits of n in base k + 1
//     base_k            H_k across blocks of Simple Base-(k+1), or the latter if shorter

#include <algorithm>
#include <numeric>

#include "graphs/types/base_graph.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

MatrixPtr round_matrix(int n, const WeightedRound& round) {
    std::vector<MatrixEntry> entries;
    std::vector<double> rest(n, 1.0);
    for (const auto& [a, b, weight] : round) {
        entries.push_back({a, b, weight});
        entries.push_back({b, a, weight});
        rest[a] -= weight;
        rest[b] -= weight;
    }
    for (int i = 0; i < n; ++i) {
        // In a group of weights 1/m, the rest 1 - (m-1)/m is 1/m up to rounding; an exact 0 stays
        // 0.
        entries.push_back({i, i, std::abs(rest[i]) < 1e-15 ? 0.0 : rest[i]});
    }
    return explicit_matrix(n, std::move(entries));
}

struct PeersSpec : LazySpec {
    int64_t k;  ///< Most peers in a round.

    static const base::Section<PeersSpec>& section();
};

const base::Section<PeersSpec>& PeersSpec::section() {
    static const base::Section<PeersSpec> keys{
        {{base::Parameter::integer("k", "1", "most peers in a round").at_least(1), &PeersSpec::k}},
        LazySpec::section()};
    return keys;
}

std::unique_ptr<Schedule> sequence(int n, const std::vector<WeightedRound>& rounds,
                                   const PeersSpec& spec) {
    std::vector<MatrixPtr> matrices;
    for (const auto& round : rounds) matrices.push_back(apply_lazy(round_matrix(n, round), spec));
    if (matrices.empty()) matrices.push_back(round_matrix(n, {}));  // n = 1
    return cyclic_schedule(std::move(matrices));
}

int64_t peers(const PeersSpec& spec, int n) {
    return std::min<int64_t>(spec.k, std::max(1, n - 1));
}

std::vector<int> everyone(int n) {
    std::vector<int> nodes(n);
    std::iota(nodes.begin(), nodes.end(), 0);
    return nodes;
}

std::unique_ptr<Schedule> make_simple(const PeersSpec& spec, const GraphContext& context,
                                      const std::string&) {
    return sequence(context.n, simple_base(everyone(context.n), peers(spec, context.n)), spec);
}

std::unique_ptr<Schedule> make_base(const PeersSpec& spec, const GraphContext& context,
                                    const std::string&) {
    return sequence(context.n, base_graph(context.n, peers(spec, context.n)), spec);
}

std::unique_ptr<Schedule> make_hyper(const PeersSpec& spec, const GraphContext& context,
                                     const std::string& pointer) {
    const int64_t k = spec.k;
    const auto admits = [k](int64_t n) { return smooth(n, k); };
    if (!admits(context.n)) {
        refuse_size("hyper_hypercube with k = " + std::to_string(k),
                    "no prime factor of n may exceed k + 1", context.n, admits, pointer);
    }
    return sequence(context.n, hyper_hypercube(everyone(context.n), k), spec);
}

}  // namespace

GraphEntry simple_base_k_entry() {
    return {"simple_base_k", "Simple Base-(k+1): exact average in a few rounds, any n",
            make_simple};
}

GraphEntry base_k_entry() {
    return {"base_k", "Base-(k+1): exact average in at most 2 log_{k+1} n + 2 rounds, any n",
            make_base};
}

GraphEntry hyper_hypercube_entry() {
    return {"hyper_hypercube",
            "averages in groups of up to k+1, mixed radix: exact; no prime factor of n "
            "above k+1",
            make_hyper};
}

}  // namespace dbench::graphs
