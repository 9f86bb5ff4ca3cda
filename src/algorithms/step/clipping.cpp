#include "algorithms/step/clipping.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "arena/kernels.hpp"
#include "arena/memory.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {

void clip(const arena::Layout& layout, arena::Rows g, double norm, arena::Queue* queue) {
    DBENCH_EXPECT(norm > 0);
    const size_t segments = layout.segments().size();
    arena::Values<double> squares(static_cast<size_t>(g.count) * segments);
    std::vector<double> tensors(layout.tensors().size());
    arena::squares(layout, g, layout.all(), squares.data(), queue);
    arena::finish(queue, "norms that gradients are clipped by");
    for (int64_t i = 0; i < g.count; ++i) {
        const arena::Rows row = g.only(i);
        layout.sum_segments(squares.data() + static_cast<size_t>(i) * segments, tensors.data());
        const double length = std::sqrt(std::accumulate(tensors.begin(), tensors.end(), 0.0));
        if (std::isfinite(length) && length > norm) {
            arena::scale(row, layout.all(), norm / length, queue);
        }
    }
}

}  // namespace dbench::algorithms
