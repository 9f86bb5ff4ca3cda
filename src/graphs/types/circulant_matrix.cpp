#include <algorithm>
#include <cmath>
#include <numbers>

#include "graphs/types/equitopo.hpp"

namespace dbench::graphs {
namespace {

class Weighted final : public Matrix {
public:
    Weighted(int n, std::map<int, double> weights) : n_(n) {
        weights.try_emplace(0, 0.0);
        for (const auto& [offset, weight] : weights) weights_.emplace_back(offset, weight);
    }

    int size() const override { return n_; }
    std::vector<Link> in(int i) const override { return line(i, n_ - 1); }
    std::vector<Link> out(int i) const override { return line(i, 1); }
    bool transitive() const override { return true; }

    std::optional<Spectrum> spectrum() const override {
        std::vector<double> sine(n_);  // sin(pi k / n)
        for (int k = 0; k < n_; ++k) sine[k] = std::sin(std::numbers::pi * k / n_);
        Spectrum spectrum{Spectrum::Basis::fourier, {}};
        spectrum.values.resize(n_);
        for (int64_t m = 0; m < n_; ++m) {
            std::complex<double> sum = 0;
            for (const auto& [offset, weight] : weights_) {
                const int64_t turn = m * offset % n_;
                const double full = sine[2 * turn % n_];
                sum += weight * std::complex<double>(2 * sine[turn] * sine[turn],
                                                     2 * turn < n_ ? full : -full);
            }
            spectrum.values[m] = sum;
        }
        return spectrum;
    }

private:
    std::vector<Link> line(int64_t i, int64_t sign) const {
        std::vector<Link> links;
        links.reserve(weights_.size());
        for (const auto& [offset, weight] : weights_) {
            links.push_back({static_cast<int>((i + sign * offset) % n_), weight});
        }
        std::sort(links.begin(), links.end(),
                  [](const Link& a, const Link& b) { return a.peer < b.peer; });
        return links;
    }

    int n_;
    std::vector<std::pair<int, double>> weights_;
};

}  // namespace

MatrixPtr circulant_matrix(int n, std::map<int, double> weights) {
    return std::make_shared<Weighted>(n, std::move(weights));
}

}  // namespace dbench::graphs
