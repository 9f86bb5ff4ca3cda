#include "graphs/types/matching.hpp"

#include <numeric>

namespace dbench::graphs {
namespace {

class Matching final : public Matrix {
public:
    Matching(int n, std::function<int(int)> partner, double weight)
        : n_(n), partner_(std::move(partner)), weight_(weight) {}

    int size() const override { return n_; }
    std::vector<Link> in(int i) const override {
        const int j = partner_(i);
        if (j == i) return {{i, 1.0}};
        if (j < i) return {{j, weight_}, {i, 1 - weight_}};
        return {{i, 1 - weight_}, {j, weight_}};
    }
    std::vector<Link> out(int i) const override { return in(i); }

private:
    int n_;
    std::function<int(int)> partner_;
    double weight_;
};

}  // namespace

MatrixPtr matching_matrix(std::vector<int> partner, double weight) {
    const int n = static_cast<int>(partner.size());
    const auto of = [partner = std::move(partner)](int i) { return partner[i]; };
    return std::make_shared<Matching>(n, of, weight);
}

MatrixPtr matching_matrix(int n, std::function<int(int)> partner, double weight) {
    return std::make_shared<Matching>(n, std::move(partner), weight);
}

std::vector<int> random_partners(int n, int pairs, base::Random& random) {
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::vector<int> partner = order;
    for (int k = 0; k < 2 * pairs; ++k) {  // the first 2 * pairs of a Fisher-Yates shuffle
        std::swap(order[k], order[k + random.below(static_cast<uint64_t>(n - k))]);
        if (k % 2 == 1) {
            partner[order[k]] = order[k - 1];
            partner[order[k - 1]] = order[k];
        }
    }
    return partner;
}

}  // namespace dbench::graphs
