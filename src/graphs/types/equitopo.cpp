// The EquiTopo graphs (Song et al. 2022, arXiv 2210.07881): circulants of M = `degree` random
// offsets a_u, each uniform in 1..n-1. All offsets are redrawn until the graph is connected (this
// project's addition). With the cyclic shift P and A^(a) = ((n-1)/n) P^a + (1/n) I:
//
//     d_equistatic   W = (1/M) sum_u A^(a_u)
//     u_equistatic   W = the mean of that matrix and its transpose
//     od_equidyn     W_t = (1 - eta) I + eta A^(a), with one a of the a_u drawn in iteration t
//     ou_equidyn     pairs (i, i + a), matched in a scan from a random start: weight eta (n-1)/n

#include "graphs/types/equitopo.hpp"

#include <numeric>

#include "base/streams.hpp"
#include "graphs/types/families.hpp"
#include "graphs/types/matching.hpp"

namespace dbench::graphs {
namespace {

constexpr int kEquitopoTries = 1000;

// Draws a_1 .. a_M, each uniform in 1..n-1, until their circulant is connected.
std::vector<int> draw_offsets(std::optional<int64_t> degree, const GraphContext& context,
                              const std::string& pointer) {
    const int n = context.n;
    if (n == 1) return {0};
    const int64_t count = degree.value_or(ceil_log2(n));
    for (uint64_t attempt = 0; attempt < kEquitopoTries; ++attempt) {
        auto random =
            base::random_stream(context.seed, base::GraphStream::equitopo_offsets, attempt);
        std::vector<int> offsets(count);
        int common = n;
        for (int& offset : offsets) {
            offset = 1 + static_cast<int>(random.below(static_cast<uint64_t>(n - 1)));
            common = std::gcd(common, offset);
        }
        if (common == 1) return offsets;
    }
    throw base::UserError(pointer + "/degree: " + std::to_string(count) +
                          " drawn offsets gave no connected graph in 1000 tries: use " +
                          std::to_string(count + 1));
}

base::Parameter equitopo_degree_parameter() {
    return base::Parameter::integer("degree", "null",
                                    "M, the number of drawn offsets; null: ceil(log2 n)")
        .at_least(1)
        .at_most(1e6)
        .or_null();
}

struct EquistaticSpec : LazySpec {
    std::optional<int64_t> degree;  ///< Number of drawn offsets; empty: ceil(log2 n).

    static const base::Section<EquistaticSpec>& section();
};

const base::Section<EquistaticSpec>& EquistaticSpec::section() {
    static const base::Section<EquistaticSpec> keys{
        {{equitopo_degree_parameter(), &EquistaticSpec::degree}}, LazySpec::section()};
    return keys;
}

struct EquidynSpec {
    std::optional<int64_t> degree;  ///< Number of drawn offsets; empty: ceil(log2 n).
    double eta;

    static const base::Section<EquidynSpec>& section();
};

const base::Section<EquidynSpec>& EquidynSpec::section() {
    static const base::Section<EquidynSpec> keys{
        {equitopo_degree_parameter(), &EquidynSpec::degree},
        {base::Parameter::number("eta", "0.5", "W <- (1 - eta) I + eta W")
             .greater_than(0)
             .at_most(1),
         &EquidynSpec::eta},
    };
    return keys;
}

// Builds W = (1/M) sum over u of ((n-1)/n) P^{a_u} + (1/n) I; if undirected, averaged with its
// transpose.
std::unique_ptr<Schedule> make_static_equitopo(const EquistaticSpec& spec,
                                               const GraphContext& context,
                                               const std::string& pointer, bool directed) {
    const int n = context.n;
    const auto offsets = draw_offsets(spec.degree, context, pointer);
    const double each = (n - 1.0) / n / static_cast<double>(offsets.size());
    std::map<int, double> weights{{0, 1.0 / n}};
    for (const int offset : offsets) {
        weights[offset] += directed ? each : each / 2;
        if (!directed) weights[(n - offset) % n] += each / 2;
    }
    return static_schedule(apply_lazy(circulant_matrix(n, std::move(weights)), spec));
}

std::unique_ptr<Schedule> make_directed(const EquistaticSpec& spec, const GraphContext& context,
                                        const std::string& pointer) {
    return make_static_equitopo(spec, context, pointer, true);
}

std::unique_ptr<Schedule> make_undirected(const EquistaticSpec& spec, const GraphContext& context,
                                          const std::string& pointer) {
    return make_static_equitopo(spec, context, pointer, false);
}

// Uses one of the offsets per iteration: W = (1 - eta) I + eta (((n-1)/n) P^a + (1/n) I).
std::unique_ptr<Schedule> make_od(const EquidynSpec& spec, const GraphContext& context,
                                  const std::string& pointer) {
    const int n = context.n;
    const double moved = spec.eta * (n - 1.0) / n;
    std::vector<MatrixPtr> matrices;
    for (const int offset : draw_offsets(spec.degree, context, pointer)) {
        std::map<int, double> weights{{0, 1 - moved}};
        weights[offset] += moved;
        matrices.push_back(circulant_matrix(n, std::move(weights)));
    }
    const auto count = matrices.size();
    return random_choice(std::move(matrices), [seed = context.seed, count](int64_t t) {
        auto random = base::random_stream(seed, base::GraphStream::equitopo_directed, t);
        return static_cast<size_t>(random.below(count));
    });
}

// Scans the replicas from a random start; i is matched with i + a if both are free.
std::unique_ptr<Schedule> make_ou(const EquidynSpec& spec, const GraphContext& context,
                                  const std::string& pointer) {
    const int n = context.n;
    const double weight = spec.eta * (n - 1.0) / n;
    const auto offsets = draw_offsets(spec.degree, context, pointer);
    const auto draw = [n, weight, offsets, seed = context.seed](int64_t t) {
        auto random = base::random_stream(seed, base::GraphStream::equitopo_undirected, t);
        const int64_t offset = offsets[random.below(offsets.size())];
        const auto start = static_cast<int>(random.below(static_cast<uint64_t>(n)));
        std::vector<int> partner(n);
        std::iota(partner.begin(), partner.end(), 0);
        for (int step = 0; step < n; ++step) {
            const int i = (start + step) % n;
            const auto j = static_cast<int>((i + offset) % n);
            if (i == j || partner[i] != i || partner[j] != j) continue;
            partner[i] = j;
            partner[j] = i;
        }
        return matching_matrix(std::move(partner), weight);
    };
    return random_sequence(n, draw, -1);
}

}  // namespace

GraphEntry u_equistatic_entry() {
    return {"u_equistatic", "EquiTopo: circulant of random offsets, both directions",
            make_undirected};
}

GraphEntry d_equistatic_entry() {
    return {"d_equistatic", "EquiTopo: circulant of random offsets (directed)", make_directed};
}

GraphEntry od_equidyn_entry() {
    return {"od_equidyn",
            "EquiTopo, one peer: a random one of the offsets per iteration (directed)", make_od};
}

GraphEntry ou_equidyn_entry() {
    return {"ou_equidyn", "EquiTopo, one peer: pairs at a random one of the offsets per iteration",
            make_ou};
}

}  // namespace dbench::graphs
