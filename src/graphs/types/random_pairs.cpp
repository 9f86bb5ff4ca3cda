// Random pairs, redrawn in every iteration: randomized gossip (Boyd et al. 2006) on the complete
// graph. The weight of a pair is theta / 2, with theta = lazy.
//
//     random_matching   floor(n / 2) disjoint pairs; one replica is idle if n is odd
//     random_pairs      `pairs` disjoint pairs; the other replicas are idle

#include <algorithm>

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

std::unique_ptr<Schedule> make_matching(const LazySpec& spec, const GraphContext& context,
                                        const std::string&) {
    return drawn_pairs(context.n, context.n / 2, spec.lazy, context.seed,
                       base::GraphStream::random_matching);
}

struct PairsSpec : LazySpec {
    int64_t pairs;  ///< Disjoint pairs per iteration.

    static const base::Section<PairsSpec>& section();
};

const base::Section<PairsSpec>& PairsSpec::section() {
    static const base::Section<PairsSpec> keys{
        {{base::Parameter::integer("pairs", "1", "disjoint pairs per iteration").at_least(1),
          &PairsSpec::pairs}},
        LazySpec::section()};
    return keys;
}

std::unique_ptr<Schedule> make_pairs(const PairsSpec& spec, const GraphContext& context,
                                     const std::string& pointer) {
    const int64_t pairs = spec.pairs;
    const int most = context.n / 2;
    if (context.n > 1 && pairs > most) {
        throw base::UserError(pointer + "/pairs: " + std::to_string(pairs) + " is too much (" +
                              std::to_string(context.n) + " replicas make " + std::to_string(most) +
                              " pairs): use " + std::to_string(most));
    }
    return drawn_pairs(context.n, std::min(most, static_cast<int>(std::min<int64_t>(pairs, most))),
                       spec.lazy, context.seed, base::GraphStream::random_pairs);
}

}  // namespace

GraphEntry random_matching_entry() {
    return {"random_matching",
            "all replicas average in random pairs, redrawn in every iteration; one is "
            "idle if n is odd",
            make_matching};
}

GraphEntry random_pairs_entry() {
    return {"random_pairs", "a few random pairs average in every iteration, the others are idle",
            make_pairs};
}

}  // namespace dbench::graphs
