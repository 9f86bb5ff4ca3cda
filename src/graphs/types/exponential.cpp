// Exponential graphs (Ying et al. 2021, arXiv 2110.13363): replicas send over distances that are
// powers. tau = ceil(log2 n).
//
//     exponential            i sends to i + 2^k mod n, k = 0..tau-1; weights 1 / (tau + 1)
//     one_peer_exponential   round t: i sends to i + 2^(t mod tau), weight 1/2; exact after
//                            tau rounds iff n = 2^tau; `order` permutes or samples the rounds
//     p_peer_exponential     round r: i sends to i + j (p+1)^r, j = 1..p (Assran et al. 2019, arXiv
//                            1811.10792)

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/streams.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

std::unique_ptr<Schedule> make_static_exponential(const base::Json& spec,
                                                  const GraphContext& context,
                                                  const std::string& pointer) {
    std::vector<int64_t> offsets;
    for (int k = 0; k < ceil_log2(context.n); ++k) offsets.push_back(int64_t{1} << k);
    return weighted_graph(circulant(context.n, offsets), spec, pointer);
}

// Builds the sequence in which round t uses offset 2^pick(t); `order` determines pick.
std::unique_ptr<Schedule> ordered(std::vector<MatrixPtr> matrices, const std::string& order,
                                  uint64_t seed) {
    const auto tau = matrices.size();
    if (order == "cyclic") return cyclic_schedule(std::move(matrices));
    if (order == "sampled") {
        return random_choice(std::move(matrices), [seed, tau](int64_t t) {
            auto random = base::random_stream(seed, base::GraphStream::exponential_sampled, t);
            return static_cast<size_t>(random.below(tau));
        });
    }
    // permuted: every tau iterations a new permutation of the tau rounds
    return random_choice(std::move(matrices), [seed, tau](int64_t t) {
        auto random = base::random_stream(seed, base::GraphStream::exponential_permuted,
                                          static_cast<uint64_t>(t) / tau);
        const auto order = base::permutation(static_cast<int64_t>(tau), random);
        return static_cast<size_t>(order[static_cast<size_t>(t) % tau]);
    });
}

std::unique_ptr<Schedule> make_one_peer_exponential(const base::Json& spec,
                                                    const GraphContext& context,
                                                    const std::string&) {
    std::vector<MatrixPtr> matrices;
    const double theta = spec.at("lazy").get<double>();
    for (int k = 0; k < std::max(1, ceil_log2(context.n)); ++k) {
        const auto topology = circulant(context.n, {int64_t{1} << k});
        matrices.push_back(lazy_matrix(uniform_weights(topology), theta));
    }
    return ordered(std::move(matrices), spec.at("order").get<std::string>(), context.seed);
}

// Round r uses the distances j (p+1)^r, j = 1..p (Assran et al. 2019), for all r with (p+1)^r < n.
// Integer arithmetic is required: a floating-point logarithm would drop the last round for some n.
std::unique_ptr<Schedule> make_p_peer(const base::Json& spec, const GraphContext& context,
                                      const std::string&) {
    const auto p = spec.at("p").get<int64_t>();
    std::vector<MatrixPtr> matrices;
    for (int64_t power = 1; power == 1 || power < context.n; power *= p + 1) {
        std::vector<int64_t> offsets;
        for (int64_t j = 1; j <= std::min<int64_t>(p, context.n); ++j) offsets.push_back(j * power);
        matrices.push_back(apply_lazy(uniform_weights(circulant(context.n, offsets)), spec));
    }
    return cyclic_schedule(std::move(matrices));
}

}  // namespace

GraphEntry p_peer_exponential_entry() {
    return graph_entry(
        "p_peer_exponential",
        "round r sends to the distances j (p+1)^r, j = 1..p; exact if n is a power of p+1",
        {base::Parameter::integer("p", "2", "peers per round").at_least(1).at_most(1e6),
         lazy_parameter()},
        make_p_peer);
}

GraphEntry exponential_entry() {
    return graph_entry("exponential", "i sends to i + 2^k for every 2^k < n (directed)",
                       with_weights({}), make_static_exponential);
}

GraphEntry one_peer_exponential_entry() {
    return graph_entry(
        "one_peer_exponential",
        "i sends to i + 2^k, one k per round; exact after log2 n rounds if n is a power of 2",
        {base::Parameter::choice("order", "\"cyclic\"", {"cyclic", "permuted", "sampled"},
                                 "how the rounds follow each other"),
         lazy_parameter()},
        make_one_peer_exponential);
}

}  // namespace dbench::graphs
