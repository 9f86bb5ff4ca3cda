#include "arena/kernels.hpp"
#include "arena/lanes.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

template <class T>
DBENCH_INLINE double sum_body(const T* values, int64_t count) {
    Lanes lanes;
    add_squares(lanes, count, [values](int64_t c) { return static_cast<double>(values[c]); });
    return total(lanes);
}
DBENCH_CLONES double sum_of_squares(const float* values, int64_t count) {
    return sum_body(values, count);
}
DBENCH_CLONES double sum_of_squares(const double* values, int64_t count) {
    return sum_body(values, count);
}

}  // namespace

void squares(const Layout& layout, Rows rows, Columns columns, double* out) {
    DBENCH_EXPECT(rows.space == Space::host);
    count_passes(rows.type, columns, rows.count, 0, Kernel::statistics);
    const std::pair<int, int> range = layout.segments_in(columns);
    const int64_t segments = static_cast<int64_t>(layout.segments().size());
    with_type(rows.type, [&]<class T>() {
        for (int64_t i = 0; i < rows.count; ++i) {
            for (int s = range.first; s < range.second; ++s) {
                const Segment& segment = layout.segments()[s];
                out[i * segments + s] =
                    sum_of_squares(rows.row<T>(i) + segment.begin, segment.end - segment.begin);
            }
        }
    });
}

}  // namespace dbench::arena
