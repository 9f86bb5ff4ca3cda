// The graph `matcha` (Wang et al. 2019, arXiv 1905.09435): a graph is cut into M matchings with
// Laplacians L_m. Every iteration activates some of them, independently with probabilities p_m:
//
//     W_t = I - alpha sum_m B_m(t) L_m,    sum_m p_m = budget M
//
// p maximises the algebraic connectivity of the expected graph (equal p for more than 128
// replicas); alpha minimises ||E[W'W] - J/n||. Parameters: graph, budget.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/streams.hpp"
#include "graphs/matrix/dense.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kMatchaMostReplicas = 512;  // some hundred decompositions of n x n matrices
constexpr int kMostOptimised = 128;       // with eigenvectors; above this, equal probabilities
constexpr int kSteps = 200;

// Colours the edges first-fit. Each colour is a matching; fewer than two times the degree are
// needed.
std::vector<std::vector<Edge>> matchings_of(const Schedule& graph) {
    std::vector<std::vector<Edge>> matchings;
    std::vector<std::vector<bool>> busy;
    for (int i = 0; i < graph.size(); ++i) {
        for (const Link& link : graph.out(graph.at(0), i)) {
            if (link.peer <= i) continue;
            size_t colour = 0;
            while (colour < busy.size() && (busy[colour][i] || busy[colour][link.peer])) ++colour;
            if (colour == busy.size()) {
                matchings.emplace_back();
                busy.emplace_back(graph.size(), false);
            }
            matchings[colour].emplace_back(i, link.peer);
            busy[colour][i] = busy[colour][link.peer] = true;
        }
    }
    return matchings;
}

void add_laplacian(MatrixXd& sum, const std::vector<Edge>& matching, double scale) {
    for (const auto& [i, j] : matching) {
        sum(i, i) += scale;
        sum(j, j) += scale;
        sum(i, j) -= scale;
        sum(j, i) -= scale;
    }
}

// Returns the nearest p in [0, 1]^M with sum `total`.
VectorXd projected(const VectorXd& p, double total) {
    double low = p.minCoeff() - 1;
    double high = p.maxCoeff();
    for (int k = 0; k < 60; ++k) {
        const double middle = (low + high) / 2;
        const double sum = (p.array() - middle).max(0.0).min(1.0).sum();
        (sum > total ? low : high) = middle;
    }
    return (p.array() - high).max(0.0).min(1.0);
}

// Returns the probabilities of the matchings that maximise the algebraic connectivity of the
// expected graph (eq. 3), by projected supergradient steps from equal probabilities.
VectorXd probabilities(const std::vector<std::vector<Edge>>& matchings, int n, double budget) {
    const auto count = static_cast<Eigen::Index>(matchings.size());
    VectorXd p = VectorXd::Constant(count, budget);
    if (n > kMostOptimised || budget >= 1) return p;
    VectorXd best = p;
    double most = -1;
    for (int step = 0; step < kSteps; ++step) {
        MatrixXd mean = MatrixXd::Zero(n, n);
        for (Eigen::Index m = 0; m < count; ++m) add_laplacian(mean, matchings[m], p(m));
        const auto [values, vectors] = symmetric_eigenpairs(mean);
        if (values(1) > most + 1e-9) {
            most = values(1);
            best = p;
        }
        const VectorXd fiedler = vectors.col(1);
        VectorXd up = VectorXd::Zero(count);
        for (Eigen::Index m = 0; m < count; ++m) {
            for (const auto& [i, j] : matchings[m]) {
                up(m) += (fiedler(i) - fiedler(j)) * (fiedler(i) - fiedler(j));
            }
        }
        p = projected(p + up / (up.norm() + 1e-300) * 0.5 / std::sqrt(step + 1.0),
                      budget * static_cast<double>(count));
    }
    return best;
}

// Minimises ||E[W'W] - J/n|| over alpha for W = I - alpha sum of active L_m (eq. 6): E[L^2] is the
// square of the mean plus the variances, and L_m^2 = 2 L_m. Returns (alpha, the minimum).
std::pair<double, double> best_alpha(const std::vector<std::vector<Edge>>& matchings, int n,
                                     const VectorXd& p) {
    MatrixXd mean = MatrixXd::Zero(n, n);
    MatrixXd square = MatrixXd::Zero(n, n);
    for (size_t m = 0; m < matchings.size(); ++m) {
        add_laplacian(mean, matchings[m], p(m));
        add_laplacian(square, matchings[m], 2 * p(m) * (1 - p(m)));
    }
    square += mean * mean;
    const auto contraction = [&](double alpha) {
        MatrixXd w = MatrixXd::Identity(n, n) - 2 * alpha * mean + alpha * alpha * square;
        w.array() -= 1.0 / n;
        return symmetric_eigenvalues(w).cwiseAbs().maxCoeff();
    };
    // Golden section works because the norm is convex; for alpha >= 1 even a single edge diverges.
    const double golden = (std::sqrt(5.0) - 1) / 2;
    double low = 0;
    double high = 1;
    double left = high - golden * (high - low);
    double right = low + golden * (high - low);
    double at_left = contraction(left);
    double at_right = contraction(right);
    for (int k = 0; k < 35; ++k) {
        if (at_left < at_right) {
            high = right;
            right = left;
            at_right = at_left;
            left = high - golden * (high - low);
            at_left = contraction(left);
        } else {
            low = left;
            left = right;
            at_left = at_right;
            right = low + golden * (high - low);
            at_right = contraction(right);
        }
    }
    return {(low + high) / 2, contraction((low + high) / 2)};
}

struct MatchaSpec {
    base::Json graph;  ///< The graph whose matchings are sampled.
    double budget;     ///< Expected share of the matchings per iteration.

    static const base::Section<MatchaSpec>& section();
};

const base::Section<MatchaSpec>& MatchaSpec::section() {
    static const base::Section<MatchaSpec> keys{
        {base::Parameter::of("graphs", "graph", "\"torus\"",
                             "the graph whose matchings are sampled", resolve_graph),
         &MatchaSpec::graph},
        {base::Parameter::number("budget", "0.5", "expected share of the matchings per iteration")
             .greater_than(0)
             .at_most(1),
         &MatchaSpec::budget},
    };
    return keys;
}

std::unique_ptr<Schedule> make_matcha(const MatchaSpec& spec, const GraphContext& context,
                                      const std::string& pointer) {
    const int n = context.n;
    const std::shared_ptr<const Schedule> graph =
        make_graph(spec.graph, context, pointer + "/graph");
    if (n == 1) return static_schedule(constant_weights(complete_topology(1), 1.0));
    if (n > kMatchaMostReplicas) {
        throw base::UserError(pointer + ": matcha computes its probabilities and weight up to " +
                              std::to_string(kMatchaMostReplicas) + " replicas (there are " +
                              std::to_string(n) + "): use random_matching or participation");
    }
    for (int i = 0; i < n; ++i) {
        const auto in = graph->in(graph->at(0), i);
        const auto out = graph->out(graph->at(0), i);
        const bool same = std::equal(in.begin(), in.end(), out.begin(), out.end(),
                                     [](const Link& a, const Link& b) { return a.peer == b.peer; });
        if (graph->period() != 1 || !same) {
            throw base::UserError(pointer +
                                  "/graph: matcha samples a static undirected graph: use "
                                  "ring, torus or erdos_renyi");
        }
    }
    const auto matchings = matchings_of(*graph);
    const VectorXd p = probabilities(matchings, n, spec.budget);
    const auto [alpha, square] = best_alpha(matchings, n, p);
    const auto draw = [n, matchings, p, alpha = alpha, seed = context.seed](int64_t t) {
        auto random = base::random_stream(seed, base::GraphStream::matcha_active, t);
        std::vector<Edge> active;
        for (size_t m = 0; m < matchings.size(); ++m) {
            if (random.uniform() >= p(m)) continue;
            active.insert(active.end(), matchings[m].begin(), matchings[m].end());
        }
        return constant_weights(from_edges(n, active, false), alpha);
    };
    return random_sequence(n, draw, std::sqrt(square < 1e-14 ? 0 : square), graph);
}

}  // namespace

GraphEntry matcha_entry() {
    return {"matcha", "matchings of a graph, activated at random within a budget (n <= 512)",
            make_matcha};
}

}  // namespace dbench::graphs
