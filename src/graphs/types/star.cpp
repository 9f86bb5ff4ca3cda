// The graph `star`: replica 0 exchanges with every other. Weights `auto` are Metropolis weights:
// W_0j = W_j0 = W_00 = 1/n, W_jj = 1 - 1/n.

#include <numeric>

#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

// The star with centre 0.
class Star final : public Topology {
public:
    explicit Star(int n) : n_(n) {}

    int size() const override { return n_; }
    std::vector<int> to(int i) const override {
        if (i != 0) return {0};
        std::vector<int> peers(n_ - 1);
        std::iota(peers.begin(), peers.end(), 1);
        return peers;
    }
    std::vector<int> from(int i) const override { return to(i); }
    bool directed() const override { return false; }
    int degree(int i) const override { return i == 0 ? n_ - 1 : 1; }
    int in_degree(int i) const override { return degree(i); }
    std::optional<int> regular() const override {
        return n_ <= 2 ? std::optional<int>(n_ - 1) : std::nullopt;
    }
    std::optional<int> metropolis_degree() const override { return n_ - 1; }
    std::optional<Spectrum> laplacian() const override {
        Spectrum spectrum{Spectrum::Basis::own, {}};
        spectrum.values.assign(n_, 1.0);
        spectrum.values[0] = 0;
        if (n_ > 1) spectrum.values[n_ - 1] = n_;
        return spectrum;
    }

private:
    int n_;
};

std::unique_ptr<Schedule> make_star(const WeightSpec& spec, const GraphContext& context,
                                    const std::string& pointer) {
    return weighted_graph(std::make_shared<Star>(context.n), spec, pointer);
}

}  // namespace

GraphEntry star_entry() { return {"star", "replica 0 exchanges with every other", make_star}; }

}  // namespace dbench::graphs
