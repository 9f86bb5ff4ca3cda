#include "graphs/matrix/weights.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dbench::graphs {
namespace {

// Returns the links to `peers` with their weights, and self at its place in the order.
template <class Weight>
std::vector<Link> links(const std::vector<int>& peers, int self, Weight weight) {
    std::vector<Link> out;
    out.reserve(peers.size() + 1);
    size_t next = 0;
    for (; next < peers.size() && peers[next] < self; ++next) {
        out.push_back({peers[next], weight(peers[next])});
    }
    out.push_back({self, 0.0});
    const size_t at = next;
    for (; next < peers.size(); ++next) out.push_back({peers[next], weight(peers[next])});
    double rest = 1.0;
    for (const Link& link : out) rest -= link.weight;
    out[at].weight = rest;
    return out;
}

class Constant final : public Matrix {
public:
    Constant(TopologyPtr topology, double epsilon)
        : topology_(std::move(topology)), epsilon_(epsilon) {}

    int size() const override { return topology_->size(); }
    std::vector<Link> in(int i) const override { return line(topology_->from(i), i); }
    std::vector<Link> out(int i) const override { return line(topology_->to(i), i); }
    bool transitive() const override { return topology_->transitive(); }
    std::optional<Spectrum> spectrum() const override {
        auto spectrum = topology_->laplacian();
        if (spectrum) {
            for (auto& value : spectrum->values) value *= epsilon_;
        }
        return spectrum;
    }

private:
    std::vector<Link> line(const std::vector<int>& peers, int i) const {
        auto out = links(peers, i, [this](int) { return epsilon_; });
        // If epsilon is 1/(d+1), the diagonal gets exactly that number instead of 1 - d epsilon.
        const double share = 1.0 / static_cast<double>(out.size());
        if (epsilon_ == share) {
            std::for_each(out.begin(), out.end(), [share](Link& link) { link.weight = share; });
        }
        return out;
    }
    std::vector<std::vector<int>> find_groups() const override {
        const int n = size();
        if (n > 1 &&
            topology_->regular() == n - 1) {  // complete: known without n^2 row comparisons
            if (std::abs(epsilon_ * n - 1) > 1e-12) return {};
            std::vector<int> all(n);
            for (int i = 0; i < n; ++i) all[i] = i;
            return {all};
        }
        return Matrix::find_groups();
    }

    TopologyPtr topology_;
    double epsilon_;
};

class Metropolis final : public Matrix {
public:
    explicit Metropolis(TopologyPtr topology) : topology_(std::move(topology)) {}

    int size() const override { return topology_->size(); }
    std::vector<Link> in(int i) const override {
        const int degree = topology_->degree(i);
        return links(topology_->to(i), i,
                     [&](int j) { return 1.0 / (1.0 + std::max(degree, topology_->degree(j))); });
    }
    std::vector<Link> out(int i) const override { return in(i); }

private:
    TopologyPtr topology_;
};

// Every replica shares equally among itself and its peers: those it receives from (rows sum to 1),
// or those it sends to (columns sum to 1).
class Shares final : public Matrix {
public:
    Shares(TopologyPtr topology, bool of_rows)
        : topology_(std::move(topology)), of_rows_(of_rows) {}

    int size() const override { return topology_->size(); }
    std::vector<Link> in(int i) const override { return line(topology_->from(i), i, of_rows_); }
    std::vector<Link> out(int i) const override { return line(topology_->to(i), i, !of_rows_); }

private:
    double share(int i) const {
        return 1.0 / (1.0 + (of_rows_ ? topology_->in_degree(i) : topology_->degree(i)));
    }
    std::vector<Link> line(const std::vector<int>& peers, int i, bool mine) const {
        auto out = links(peers, i, [](int) { return 0.0; });
        for (Link& link : out) link.weight = share(mine ? i : link.peer);
        return out;
    }

    TopologyPtr topology_;
    bool of_rows_;
};

int largest_degree(const Topology& topology) {
    if (const auto d = topology.regular()) return *d;
    int most = 0;
    for (int i = 0; i < topology.size(); ++i) most = std::max(most, topology.degree(i));
    return most;
}

MatrixPtr by_rule(const std::string& rule, const TopologyPtr& topology, const std::string& at) {
    const bool regular = topology->regular().has_value();
    if (rule == "uniform") return uniform_weights(topology);
    if (rule == "column") return column_weights(topology);
    if (rule == "auto") {
        // For a directed graph with unequal degrees, none of these rules is doubly stochastic.
        return regular || topology->directed() ? uniform_weights(topology)
                                               : metropolis_weights(topology);
    }
    const bool needs_symmetry = rule == "laplacian" || rule == "fastest" || !regular;
    if (topology->directed() && needs_symmetry) {
        throw base::UserError(
            at + ": '" + rule +
            "' is not defined on this directed graph (its weights are symmetric): "
            "use uniform or column, or an undirected graph");
    }
    if (rule == "metropolis") return metropolis_weights(topology);
    if (rule == "max_degree") {
        return constant_weights(topology, 1.0 / (largest_degree(*topology) + 1));
    }
    if (rule == "laplacian") return laplacian_weights(topology, at);
    return fastest_weights(topology, at);
}

}  // namespace

MatrixPtr constant_weights(TopologyPtr topology, double epsilon) {
    return std::make_shared<Constant>(std::move(topology), epsilon);
}

MatrixPtr uniform_weights(TopologyPtr topology) {
    if (const auto d = topology->regular())
        return constant_weights(std::move(topology), 1.0 / (*d + 1));
    return std::make_shared<Shares>(std::move(topology), true);
}

MatrixPtr column_weights(TopologyPtr topology) {
    if (topology->regular()) return uniform_weights(std::move(topology));
    return std::make_shared<Shares>(std::move(topology), false);
}

MatrixPtr metropolis_weights(TopologyPtr topology) {
    DBENCH_EXPECT(!topology->directed() || topology->regular());
    if (const auto d = topology->metropolis_degree()) {
        return constant_weights(std::move(topology), 1.0 / (*d + 1));
    }
    return std::make_shared<Metropolis>(std::move(topology));
}

const base::Section<LazySpec>& LazySpec::section() {
    static const base::Section<LazySpec> keys{
        {base::Parameter::number("lazy", "1",
                                 "theta: W <- (1 - theta) I + theta W; 1 leaves W as it is, and "
                                 "0.5 is the lazy matrix of papers, (I + W) / 2")
             .greater_than(0)
             .at_most(1),
         &LazySpec::lazy},
    };
    return keys;
}

const base::Section<WeightSpec>& WeightSpec::section() {
    static const base::Section<WeightSpec> keys{
        {{base::Parameter::choice(
              "weights", "\"auto\"",
              {"auto", "uniform", "metropolis", "max_degree", "laplacian", "column", "fastest"},
              "mixing weights; auto: uniform on regular graphs, metropolis else"),
          &WeightSpec::weights}},
        LazySpec::section()};
    return keys;
}

MatrixPtr weighted(const TopologyPtr& topology, const WeightSpec& spec,
                   const std::string& pointer) {
    if (topology->size() == 1) return constant_weights(topology, 1.0);
    return lazy_matrix(by_rule(spec.weights, topology, pointer + "/weights"), spec.lazy);
}

}  // namespace dbench::graphs
