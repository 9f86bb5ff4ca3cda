#include "graphs/types/families.hpp"

namespace dbench::graphs {

GraphEntry mark_run_dependent(GraphEntry entry) {
    entry.depends_on_run = true;
    return entry;
}

std::unique_ptr<Schedule> weighted_graph(const TopologyPtr& topology, const WeightSpec& spec,
                                         const std::string& pointer) {
    return static_schedule(weighted(topology, spec, pointer));
}

int ceil_log2(int64_t n) {
    int bits = 0;
    while ((int64_t{1} << bits) < n) ++bits;
    return bits;
}

int near_square_divisor(int n) {
    int rows = 1;
    for (int r = 1; static_cast<int64_t>(r) * r <= n; ++r) {
        if (n % r == 0) rows = r;
    }
    return rows;
}

void refuse_size(const std::string& name, const std::string& reason, int n,
                 const std::function<bool(int64_t)>& admits, const std::string& pointer) {
    int64_t below = n - 1;
    while (below > 1 && !admits(below)) --below;
    int64_t above = n + 1;
    while (!admits(above)) ++above;
    throw base::UserError(pointer + ": " + name + " is not defined for " + std::to_string(n) +
                          " replicas (" + reason + "): the nearest that work are " +
                          std::to_string(below) + " and " + std::to_string(above));
}

MatrixPtr apply_lazy(MatrixPtr matrix, const LazySpec& spec) {
    return lazy_matrix(std::move(matrix), spec.lazy);
}

double sum_of_squares(double weight, int degree) {
    const double self = 1 - degree * weight;
    return self * self + degree * weight * weight;
}

double exchangeable_rho(int n, double row_squares) {
    if (n <= 1) return 0;
    const double square = (n * row_squares - 1) / (n - 1);
    return square < 1e-14 ? 0 : std::sqrt(square);
}

}  // namespace dbench::graphs
