#include "arena/sums/squares_kernel.hpp"

#include "arena/grid/launch.hpp"
#include "arena/grid/segment_grid.hpp"
#include "arena/kernels.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const Squares<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Squares<double>& body) { run_blocks(body); }

void squares(const Layout& layout, Rows rows, Columns columns, double* out, Queue& queue) {
    DBENCH_EXPECT(!queue.immediate() || rows.space == Space::host);
    count_passes(rows.type, columns, rows.count, 0, Kernel::statistics);
    const SegmentGrid grid(layout, rows.count, columns, out, queue);
    const auto accesses = [&] { return list_accesses(grid, {rows}, {}); };
    with_type(rows.type, [&]<class T>() {
        launch(queue, "squares", Squares<T>{grid, rows}, accesses);
    });
}

}  // namespace dbench::arena
