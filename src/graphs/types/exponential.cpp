// Exponential graphs (Ying et al. 2021, arXiv 2110.13363): replicas send over distances that are
// powers. tau = ceil(log2 n).
//
//     exponential            i sends to i + 2^k mod n, k = 0..tau-1; weights 1 / (tau + 1)
//     one_peer_exponential   round t: i sends to i + 2^(t mod tau), weight 1/2; exact after
//                            tau rounds iff n = 2^tau; `order` permutes or samples the rounds
//     p_peer_exponential     round r: i sends to i + j (p+1)^r, j = 1..p (Assran et al. 2019, arXiv
//                            1811.10792)

#include <algorithm>

#include "base/streams.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

std::unique_ptr<Schedule> make_static_exponential(const WeightSpec& spec,
                                                  const GraphContext& context,
                                                  const std::string& pointer) {
    std::vector<int64_t> offsets;
    for (int k = 0; k < ceil_log2(context.n); ++k) offsets.push_back(int64_t{1} << k);
    return weighted_graph(circulant(context.n, offsets), spec, pointer);
}

enum class RoundOrder : uint8_t { cyclic, permuted, sampled };

struct OnePeerSpec : LazySpec {
    RoundOrder order;

    static const base::Section<OnePeerSpec>& section();
};

const base::Section<OnePeerSpec>& OnePeerSpec::section() {
    static const base::Section<OnePeerSpec> keys{
        {{base::Words<RoundOrder>("order",
                                  {{"cyclic", RoundOrder::cyclic},
                                   {"permuted", RoundOrder::permuted},
                                   {"sampled", RoundOrder::sampled}},
                                  RoundOrder::cyclic, "how the rounds follow each other"),
          &OnePeerSpec::order}},
        LazySpec::section()};
    return keys;
}

struct SeveralPeersSpec : LazySpec {
    int64_t p;  ///< Peers per round.

    static const base::Section<SeveralPeersSpec>& section();
};

const base::Section<SeveralPeersSpec>& SeveralPeersSpec::section() {
    static const base::Section<SeveralPeersSpec> keys{
        {{base::Parameter::integer("p", "2", "peers per round").at_least(1).at_most(1e6),
          &SeveralPeersSpec::p}},
        LazySpec::section()};
    return keys;
}

// Builds the sequence in which round t uses offset 2^pick(t); `order` determines pick.
std::unique_ptr<Schedule> ordered(std::vector<MatrixPtr> matrices, RoundOrder order,
                                  uint64_t seed) {
    const auto tau = matrices.size();
    if (order == RoundOrder::cyclic) return cyclic_schedule(std::move(matrices));
    if (order == RoundOrder::sampled) {
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

std::unique_ptr<Schedule> make_one_peer_exponential(const OnePeerSpec& spec,
                                                    const GraphContext& context,
                                                    const std::string&) {
    std::vector<MatrixPtr> matrices;
    for (int k = 0; k < std::max(1, ceil_log2(context.n)); ++k) {
        const auto topology = circulant(context.n, {int64_t{1} << k});
        matrices.push_back(apply_lazy(uniform_weights(topology), spec));
    }
    return ordered(std::move(matrices), spec.order, context.seed);
}

// Round r uses the distances j (p+1)^r, j = 1..p (Assran et al. 2019), for all r with (p+1)^r < n.
// Integer arithmetic is required: a floating-point logarithm would drop the last round for some n.
std::unique_ptr<Schedule> make_p_peer(const SeveralPeersSpec& spec, const GraphContext& context,
                                      const std::string&) {
    const int64_t p = spec.p;
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
    return {"p_peer_exponential",
            "round r sends to the distances j (p+1)^r, j = 1..p; exact if n is a power of p+1",
            make_p_peer};
}

GraphEntry exponential_entry() {
    return {"exponential", "i sends to i + 2^k for every 2^k < n (directed)",
            make_static_exponential};
}

GraphEntry one_peer_exponential_entry() {
    return {"one_peer_exponential",
            "i sends to i + 2^k, one k per round; exact after log2 n rounds if n is a power of 2",
            make_one_peer_exponential};
}

}  // namespace dbench::graphs
