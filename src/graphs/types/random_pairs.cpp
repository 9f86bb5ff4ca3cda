// Random pairs, redrawn in every iteration: randomized gossip (Boyd et al. 2006) on the complete
// graph. The weight of a pair is theta / 2, with theta = lazy.
//
//     random_matching   floor(n / 2) disjoint pairs; one replica is idle if n is odd
//     random_pairs      `pairs` disjoint pairs; the other replicas are idle

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/streams.hpp"
#include "graphs/types/families.hpp"
#include "graphs/types/matching.hpp"

namespace dbench::graphs {
namespace {

std::unique_ptr<Schedule> drawn_pairs(int n, int pairs, double theta, uint64_t seed,
                                      base::GraphStream stream) {
    const auto draw = [=](int64_t t) {
        auto random = base::random_stream(seed, stream, t);
        return matching_matrix(random_partners(n, pairs, random), theta / 2);
    };
    // Mean over replicas of the squares in a row: 2 * pairs of the n replicas are in a pair.
    const double busy = n > 0 ? 2.0 * pairs / n : 0;
    return random_sequence(n, draw,
                           exchangeable_rho(n, busy * sum_of_squares(theta / 2, 1) + (1 - busy)));
}

std::unique_ptr<Schedule> make_matching(const base::Json& spec, const GraphContext& context,
                                        const std::string&) {
    return drawn_pairs(context.n, context.n / 2, spec.at("lazy").get<double>(), context.seed,
                       base::GraphStream::random_matching);
}

std::unique_ptr<Schedule> make_pairs(const base::Json& spec, const GraphContext& context,
                                     const std::string& pointer) {
    const auto pairs = spec.at("pairs").get<int64_t>();
    const int most = context.n / 2;
    if (context.n > 1 && pairs > most) {
        throw base::UserError(pointer + "/pairs: " + std::to_string(pairs) + " is too much (" +
                              std::to_string(context.n) + " replicas make " + std::to_string(most) +
                              " pairs): use " + std::to_string(most));
    }
    return drawn_pairs(context.n, std::min(most, static_cast<int>(std::min<int64_t>(pairs, most))),
                       spec.at("lazy").get<double>(), context.seed,
                       base::GraphStream::random_pairs);
}

}  // namespace

GraphEntry random_matching_entry() {
    return graph_entry("random_matching",
                       "all replicas average in random pairs, redrawn in every iteration; one is "
                       "idle if n is odd",
                       {lazy_parameter()}, make_matching);
}

GraphEntry random_pairs_entry() {
    return graph_entry(
        "random_pairs", "a few random pairs average in every iteration, the others are idle",
        {base::Parameter::integer("pairs", "1", "disjoint pairs per iteration").at_least(1),
         lazy_parameter()},
        make_pairs);
}

}  // namespace dbench::graphs
