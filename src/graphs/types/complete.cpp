// The graph `complete`: every replica exchanges with every other. Uniform weights give W = J/n, the
// mean, which is carried out and counted as an all-reduce. With `lazy` = theta, W = (1 - theta) I +
// theta J/n.

#include <numeric>

#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

class Complete final : public Topology {
public:
    explicit Complete(int n) : n_(n) {}

    int size() const override { return n_; }
    std::vector<int> to(int i) const override {
        std::vector<int> peers(n_);
        std::iota(peers.begin(), peers.end(), 0);
        peers.erase(peers.begin() + i);
        return peers;
    }
    std::vector<int> from(int i) const override { return to(i); }
    bool directed() const override { return false; }
    int degree(int) const override { return n_ - 1; }
    int in_degree(int) const override { return n_ - 1; }
    std::optional<int> regular() const override { return n_ - 1; }
    bool transitive() const override { return true; }
    std::optional<Spectrum> laplacian() const override {
        Spectrum spectrum{Spectrum::Basis::fourier, {}};
        spectrum.values.assign(n_, static_cast<double>(n_));
        spectrum.values[0] = 0;
        return spectrum;
    }

private:
    int n_;
};

std::unique_ptr<Schedule> make_complete(const WeightSpec& spec, const GraphContext& context,
                                        const std::string& pointer) {
    return weighted_graph(complete_topology(context.n), spec, pointer);
}

}  // namespace

TopologyPtr complete_topology(int n) { return std::make_shared<Complete>(n); }

GraphEntry complete_entry() {
    return {"complete", "every replica exchanges with every other: parameter all-reduce",
            make_complete};
}

}  // namespace dbench::graphs
