// The graph `torus`: a 2-D torus r x c, where r is the largest divisor of n up to sqrt(n). Replica
// i c + j is at (i, j); its neighbours are (i +- 1 mod r, j) and (i, j +- 1 mod c), as a set. The
// degree is 4 with weights 1/5 if r, c >= 3; it is 3 if r = 2 < c, and 2 if r = c = 2 or r = 1,
// which is the ring.

#include <algorithm>
#include <numbers>

#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

// Returns Laplacian eigenvalue p of a cycle of m. A cycle of two replicas is one edge; a cycle of
// one has no edge.
double cycle_eigenvalue(int m, int p) {
    const double s = std::sin(std::numbers::pi * p / m);
    return m == 1 ? 0.0 : (m == 2 ? 2.0 : 4.0) * s * s;
}

// An r x c torus, replica i*c + j at (i, j). Neighbours are a set: if r or c is 2 two neighbours
// coincide, and if it is 1 there is none, so the degree is smaller.
class Torus final : public Topology {
public:
    explicit Torus(int n) : n_(n), rows_(near_square_divisor(n)), columns_(n / rows_) {}

    int size() const override { return n_; }
    std::vector<int> to(int i) const override {
        const int row = i / columns_;
        const int column = i % columns_;
        std::vector<int> peers = {(row + 1) % rows_ * columns_ + column,
                                  (row + rows_ - 1) % rows_ * columns_ + column,
                                  row * columns_ + (column + 1) % columns_,
                                  row * columns_ + (column + columns_ - 1) % columns_};
        std::sort(peers.begin(), peers.end());
        peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
        std::erase(peers, i);
        return peers;
    }
    std::vector<int> from(int i) const override { return to(i); }
    bool directed() const override { return false; }
    std::optional<int> regular() const override { return degree(0); }
    bool transitive() const override { return true; }
    std::optional<Spectrum> laplacian() const override {
        Spectrum spectrum{Spectrum::Basis::own, {}};
        spectrum.values.reserve(n_);
        for (int p = 0; p < rows_; ++p) {
            for (int q = 0; q < columns_; ++q) {
                spectrum.values.push_back(cycle_eigenvalue(rows_, p) +
                                          cycle_eigenvalue(columns_, q));
            }
        }
        return spectrum;
    }

private:
    int n_;
    int rows_;
    int columns_;
};

std::unique_ptr<Schedule> make_torus(const WeightSpec& spec, const GraphContext& context,
                                     const std::string& pointer) {
    return weighted_graph(std::make_shared<Torus>(context.n), spec, pointer);
}

}  // namespace

GraphEntry torus_entry() {
    return {"torus",
            "2-D torus r x c, r the largest divisor of n up to sqrt(n); a ring if "
            "n is prime",
            make_torus};
}

}  // namespace dbench::graphs
