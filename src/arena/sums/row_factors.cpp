#include "arena/sums/row_factors.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "arena/grid/launch.hpp"
#include "arena/kernels.hpp"
#include "arena/sums/row_factors_kernel.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const NormFactors& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const ScaleEach<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const ScaleEach<double>& body) { run_blocks(body); }

void norm_factors(const Layout& layout, int64_t count, const double* squares, FactorRule rule,
                  double number, double* out, Queue& queue) {
    DBENCH_EXPECT(number > 0);
    const NormFactors body{.segments = layout.segment_array().on(queue),
                           .all = static_cast<int64_t>(layout.segments().size()),
                           .tensors = static_cast<int64_t>(layout.tensors().size()),
                           .rows = count,
                           .squares = squares,
                           .rule = rule,
                           .number = number,
                           .out = out};
    launch(queue, "norm_factors", body, [&] {
        return std::vector<Access>{reads(squares, count * body.all * kDoubleBytes),
                                   writes(out, count * kDoubleBytes)};
    });
}

const double* RowFactors::of(const Layout& layout, Rows rows, Queue& queue) {
    const auto segments = static_cast<int64_t>(layout.segments().size());
    const int64_t squares = rows.count * segments, wanted = squares + rows.count;
    if (values_.rows().stride < wanted) {
        keep(queue, std::make_shared<Buffer>(std::move(values_)));
        values_ = queue.memories().rows(DType::float64, 0, 1, wanted);
    }
    double* const values = values_.rows().row<double>(0);
    arena::squares(layout, rows, layout.all(), values, queue);
    norm_factors(layout, rows.count, values, rule_, number_, values + squares, queue);
    return values + squares;
}

void scale_each(Rows rows, Columns columns, const double* factors, Queue& queue) {
    if (columns.count() <= 0) return;
    // The host does not know which rows a device will skip.
    const int64_t passes = queue.immediate()
                               ? rows.count - std::count(factors, factors + rows.count, 1.0)
                               : rows.count;
    count_passes(rows.type, columns, passes, passes);
    const auto accesses = [&] {
        return std::vector<Access>{reads(factors, rows.count * kDoubleBytes),
                                   writes(rows, columns)};
    };
    with_type(rows.type, [&]<class T>() {
        const ScaleEach<T> body{{columns, rows.count}, rows, factors};
        launch(queue, "scale_each", body, accesses);
    });
}

}  // namespace dbench::arena
