#include "algorithms/step/clipping.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "arena/kernels.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {

void clip(const arena::Layout& layout, arena::Rows g, double norm) {
    DBENCH_EXPECT(norm > 0);
    std::vector<double> segments(layout.segments().size()), tensors(layout.tensors().size());
    for (int64_t i = 0; i < g.count; ++i) {
        const arena::Rows row = g.only(i);
        arena::squares(layout, row, layout.all(), segments.data());
        layout.sum_segments(segments.data(), tensors.data());
        const double length = std::sqrt(std::accumulate(tensors.begin(), tensors.end(), 0.0));
        if (std::isfinite(length) && length > norm) {
            arena::scale(row, layout.all(), norm / length);
        }
    }
}

}  // namespace dbench::algorithms
