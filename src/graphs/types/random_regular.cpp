// Random regular graphs, drawn by pairing stubs (Steger and Wormald 1999); n times degree is even.
//
//     random_regular   one graph for the whole run, redrawn until connected; weights
//                      1 / (degree + 1)
//     epidemic         a new graph in every iteration, with the same weights (EL-Oracle of
//                      Epidemic Learning, de Vos et al. 2023, arXiv 2310.01972)

#include <algorithm>

#include "base/streams.hpp"
#include "graphs/types/families.hpp"
#include "graphs/types/regular.hpp"

namespace dbench::graphs {
namespace {

constexpr int kRandomRegularTries = 1000;

// Returns the requested degree, or a feasible degree up to 4. Throws UserError if n d is odd or d
// >= n.
int feasible_degree(std::optional<int64_t> wanted, int n, const std::string& pointer) {
    if (!wanted) return std::min(4, n - 1);
    const int64_t degree = *wanted;
    if (n == 1) return 0;
    if (degree >= n) {
        throw base::UserError(pointer + "/degree: " + std::to_string(degree) + " is too much (" +
                              std::to_string(n) + " replicas have at most " +
                              std::to_string(n - 1) + " others): use " + std::to_string(n - 1));
    }
    if (degree % 2 == 1 && n % 2 == 1) {
        throw base::UserError(pointer + "/degree: " + std::to_string(degree) +
                              " is impossible with " + std::to_string(n) +
                              " replicas (n times degree must be even): use " +
                              (degree > 1 ? std::to_string(degree - 1) + " or " : std::string()) +
                              std::to_string(degree + 1));
    }
    return static_cast<int>(degree);
}

base::Parameter random_regular_degree_parameter() {
    return base::Parameter::integer("degree", "null",
                                    "neighbours of every replica; null: 4, or what n allows")
        .at_least(1)
        .or_null();
}

struct RandomRegularSpec : WeightSpec {
    std::optional<int64_t> degree;  ///< Neighbours of every replica; empty: 4, or what n allows.

    static const base::Section<RandomRegularSpec>& section();
};

const base::Section<RandomRegularSpec>& RandomRegularSpec::section() {
    static const base::Section<RandomRegularSpec> keys{
        {{random_regular_degree_parameter(), &RandomRegularSpec::degree}}, WeightSpec::section()};
    return keys;
}

struct EpidemicSpec : LazySpec {
    std::optional<int64_t> degree;  ///< As for random_regular.

    static const base::Section<EpidemicSpec>& section();
};

const base::Section<EpidemicSpec>& EpidemicSpec::section() {
    static const base::Section<EpidemicSpec> keys{
        {{random_regular_degree_parameter(), &EpidemicSpec::degree}}, LazySpec::section()};
    return keys;
}

std::unique_ptr<Schedule> make_static_random_regular(const RandomRegularSpec& spec,
                                                     const GraphContext& context,
                                                     const std::string& pointer) {
    const int n = context.n;
    const int degree = feasible_degree(spec.degree, n, pointer);
    for (uint64_t attempt = 0; attempt < kRandomRegularTries && (degree > 1 || n <= 2); ++attempt) {
        auto random = base::random_stream(context.seed, base::GraphStream::random_regular, attempt);
        const auto edges = random_regular(n, degree, random);
        if (is_connected(n, edges))
            return weighted_graph(from_edges(n, edges, false), spec, pointer);
    }
    const int more = degree + (n % 2 == 1 && degree > 1 ? 2 : 1);
    throw base::UserError(pointer + "/degree: no connected graph of degree " +
                          std::to_string(degree) + " on " + std::to_string(n) +
                          " replicas was found in 1000 tries (sparse ones fall apart): use " +
                          std::to_string(more));
}

std::unique_ptr<Schedule> make_epidemic(const EpidemicSpec& spec, const GraphContext& context,
                                        const std::string& pointer) {
    const int n = context.n;
    const int degree = feasible_degree(spec.degree, n, pointer);
    const double theta = spec.lazy;
    const auto draw = [n, degree, theta, seed = context.seed](int64_t t) {
        auto random = base::random_stream(seed, base::GraphStream::epidemic, t);
        const auto topology = from_edges(n, random_regular(n, degree, random), false);
        return lazy_matrix(constant_weights(topology, 1.0 / (degree + 1)), theta);
    };
    return random_sequence(n, draw,
                           exchangeable_rho(n, sum_of_squares(theta / (degree + 1.0), degree)));
}

}  // namespace

GraphEntry random_regular_entry() {
    return {"random_regular", "a connected random graph of equal degrees",
            make_static_random_regular};
}

GraphEntry epidemic_entry() {
    return {"epidemic", "a new random regular graph in every iteration", make_epidemic};
}

}  // namespace dbench::graphs
