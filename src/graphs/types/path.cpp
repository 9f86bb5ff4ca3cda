// Grids without wrap-around. Replica i c + j is at (i, j) of r x c; its neighbours are those in the
// four directions that exist.
//
//     path   r = 1: i - 1 and i + 1, open ends
//     grid   r is the largest divisor of n up to sqrt(n), c = n / r
//
// These graphs are not regular beyond 2 x 2: weights `auto` are Metropolis weights 1 / (1 +
// max(d_i, d_j)).

#include <algorithm>
#include <numbers>

#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

// Returns Laplacian eigenvalue p of a path of m (Fiedler): 2 - 2 cos(pi p / m).
double path_eigenvalue(int m, int p) {
    const double s = std::sin(std::numbers::pi * p / (2.0 * m));
    return 4 * s * s;
}

// An r x c grid without wrap-around, replica i*c + j at (i, j); r = 1 is the path.
class Grid final : public Topology {
public:
    Grid(int rows, int columns) : rows_(rows), columns_(columns) {}

    int size() const override { return rows_ * columns_; }
    std::vector<int> to(int i) const override {
        const int row = i / columns_;
        const int column = i % columns_;
        std::vector<int> peers;
        if (row > 0) peers.push_back(i - columns_);
        if (column > 0) peers.push_back(i - 1);
        if (column + 1 < columns_) peers.push_back(i + 1);
        if (row + 1 < rows_) peers.push_back(i + columns_);
        return peers;
    }
    std::vector<int> from(int i) const override { return to(i); }
    bool directed() const override { return false; }
    std::optional<int> regular() const override {
        if (rows_ <= 2 && columns_ <= 2) return degree(0);
        return std::nullopt;
    }
    std::optional<int> metropolis_degree() const override {
        if (rows_ == 1 && columns_ > 2) return 2;
        return regular();
    }
    std::optional<Spectrum> laplacian() const override {
        Spectrum spectrum{Spectrum::Basis::own, {}};
        spectrum.values.reserve(size());
        for (int p = 0; p < rows_; ++p) {
            for (int q = 0; q < columns_; ++q) {
                spectrum.values.push_back(path_eigenvalue(rows_, p) + path_eigenvalue(columns_, q));
            }
        }
        return spectrum;
    }

private:
    int rows_;
    int columns_;
};

std::unique_ptr<Schedule> make_path(const WeightSpec& spec, const GraphContext& context,
                                    const std::string& pointer) {
    return weighted_graph(std::make_shared<Grid>(1, context.n), spec, pointer);
}

std::unique_ptr<Schedule> make_grid(const WeightSpec& spec, const GraphContext& context,
                                    const std::string& pointer) {
    const int rows = near_square_divisor(context.n);
    return weighted_graph(std::make_shared<Grid>(rows, context.n / rows), spec, pointer);
}

}  // namespace

GraphEntry path_entry() { return {"path", "neighbours i-1 and i+1, open ends", make_path}; }

GraphEntry grid_entry() {
    return {"grid", "2-D grid r x c without wrap-around, r the largest divisor of n up to sqrt(n)",
            make_grid};
}

}  // namespace dbench::graphs
