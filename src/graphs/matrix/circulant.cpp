#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "graphs/matrix/topology.hpp"

namespace dbench::graphs {
namespace {

class Circulant final : public Topology {
public:
    Circulant(int n, std::vector<int64_t> offsets) : n_(n), offsets_(std::move(offsets)) {
        for (const int64_t offset : offsets_) {
            directed_ |= !std::binary_search(offsets_.begin(), offsets_.end(), n_ - offset);
        }
    }

    int size() const override { return n_; }
    std::vector<int> to(int i) const override { return shifted(i, +1); }
    std::vector<int> from(int i) const override { return shifted(i, -1); }
    bool directed() const override { return directed_; }
    int degree(int) const override { return static_cast<int>(offsets_.size()); }
    int in_degree(int) const override { return degree(0); }
    std::optional<int> regular() const override { return degree(0); }
    bool transitive() const override { return true; }

    // Eigenvalue of Fourier vector m: sum over offsets of 1 - exp(-2 pi i m offset / n). The angle
    // is reduced in integers, and 1 - cos is computed as 2 sin^2, so that a ring of 65,536 keeps
    // the digits of its gap.
    std::optional<Spectrum> laplacian() const override {
        std::vector<double> sine(n_);  // sin(pi k / n)
        for (int k = 0; k < n_; ++k) sine[k] = std::sin(std::numbers::pi * k / n_);
        Spectrum spectrum{Spectrum::Basis::fourier, {}};
        spectrum.values.resize(n_);
        for (int64_t m = 0; m < n_; ++m) {
            double real = 0;
            double imaginary = 0;
            for (const int64_t offset : offsets_) {
                const int64_t turn = m * offset % n_;
                real += 2 * sine[turn] * sine[turn];
                if (directed_) {
                    const double full = sine[2 * turn % n_];
                    imaginary += 2 * turn < n_ ? full : -full;
                }
            }
            spectrum.values[m] = {real, imaginary};
        }
        return spectrum;
    }

private:
    std::vector<int> shifted(int i, int sign) const {
        std::vector<int> peers;
        peers.reserve(offsets_.size());
        for (const int64_t offset : offsets_) {
            peers.push_back(static_cast<int>((i + sign * offset + n_) % n_));
        }
        std::sort(peers.begin(), peers.end());
        return peers;
    }

    int n_;
    std::vector<int64_t> offsets_;  // sorted, distinct, in 1..n-1
    bool directed_ = false;
};

}  // namespace

TopologyPtr circulant(int n, const std::vector<int64_t>& offsets) {
    std::vector<int64_t> reduced;
    for (const int64_t offset : offsets) {
        const int64_t o = (offset % n + n) % n;
        if (o != 0) reduced.push_back(o);
    }
    std::sort(reduced.begin(), reduced.end());
    reduced.erase(std::unique(reduced.begin(), reduced.end()), reduced.end());
    return std::make_shared<Circulant>(n, std::move(reduced));
}

}  // namespace dbench::graphs
