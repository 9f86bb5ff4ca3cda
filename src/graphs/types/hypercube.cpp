// Hypercube graphs, n = 2^d: i exchanges with i XOR 2^k.
//
//     hypercube            all k = 0..d-1 at once; weights 1 / (d + 1)
//     one_peer_hypercube   round t: k = t mod d, weight 1/2; exact after d rounds (dimension
//                          exchange, Cybenko 1989)

#include <algorithm>
#include <bit>

#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

// The topology with neighbours i XOR mask; n is a power of two.
class Flips final : public Topology {
public:
    Flips(int n, std::vector<int> masks) : n_(n), masks_(std::move(masks)) {}

    int size() const override { return n_; }
    std::vector<int> to(int i) const override {
        std::vector<int> peers;
        for (const int mask : masks_) peers.push_back(i ^ mask);
        std::sort(peers.begin(), peers.end());
        return peers;
    }
    std::vector<int> from(int i) const override { return to(i); }
    bool directed() const override { return false; }
    int degree(int) const override { return static_cast<int>(masks_.size()); }
    std::optional<int> regular() const override { return degree(0); }
    bool transitive() const override { return true; }
    // Walsh function k changes sign under a flip if k and the mask share an odd number of bits.
    std::optional<Spectrum> laplacian() const override {
        Spectrum spectrum{Spectrum::Basis::walsh, {}};
        spectrum.values.assign(n_, 0.0);
        for (int k = 0; k < n_; ++k) {
            for (const int mask : masks_) {
                if (std::popcount(static_cast<unsigned>(k & mask)) % 2 == 1) {
                    spectrum.values[k] += 2.0;
                }
            }
        }
        return spectrum;
    }

private:
    int n_;
    std::vector<int> masks_;
};

void expect_power_of_two(const std::string& name, int n, const std::string& pointer) {
    const auto power = [](int64_t v) { return (v & (v - 1)) == 0; };
    if (!power(n)) refuse_size(name, "n must be a power of 2", n, power, pointer);
}

std::unique_ptr<Schedule> make_static_hypercube(const WeightSpec& spec, const GraphContext& context,
                                                const std::string& pointer) {
    expect_power_of_two("hypercube", context.n, pointer);
    std::vector<int> masks;
    for (int mask = 1; mask < context.n; mask *= 2) masks.push_back(mask);
    return weighted_graph(std::make_shared<Flips>(context.n, masks), spec, pointer);
}

std::unique_ptr<Schedule> make_one_peer_hypercube(const LazySpec& spec, const GraphContext& context,
                                                  const std::string& pointer) {
    expect_power_of_two("one_peer_hypercube", context.n, pointer);
    std::vector<MatrixPtr> matrices;
    for (int mask = 1; mask < context.n; mask *= 2) {
        matrices.push_back(apply_lazy(
            uniform_weights(std::make_shared<Flips>(context.n, std::vector<int>{mask})), spec));
    }
    if (matrices.empty()) return static_schedule(constant_weights(complete_topology(1), 1.0));
    return cyclic_schedule(std::move(matrices));
}

}  // namespace

GraphEntry hypercube_entry() {
    return {"hypercube", "log2(n) neighbours i XOR 2^k; n a power of 2", make_static_hypercube};
}

GraphEntry one_peer_hypercube_entry() {
    return {"one_peer_hypercube",
            "pairs (i, i XOR 2^k), one k per round: exact after log2(n) rounds; n a power "
            "of 2",
            make_one_peer_hypercube};
}

}  // namespace dbench::graphs
