#include "arena/kernels.hpp"

#include "arena/random_rows.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

TEST_CASE("zero, copy and scale change only their columns") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const Buffer x = random_rows(layout, type, 3, 1), before = random_rows(layout, type, 3, 1);
    const Buffer y = random_rows(layout, type, 3, 2);
    const Columns range{160, 1136};
    const auto expect = [&](const Rows& rows, auto inside, auto outside) {
        bool same = true;
        for (int64_t i = 0; i < rows.count; ++i) {
            for (int64_t c = 0; c < layout.columns(); ++c) {
                const bool in = c >= range.begin && c < range.end;
                same &= element(rows, i, c) == (in ? inside(i, c) : outside(i, c));
            }
        }
        CHECK(same);
    };
    const auto of_x = [&](int64_t i, int64_t c) { return element(before.rows(), i, c); };
    const auto of_y = [&](int64_t i, int64_t c) { return element(y.rows(), i, c); };

    copy(y.rows(), x.rows(), range);
    expect(x.rows(), of_y, of_x);
    copy(before.rows(), x.rows(), range);
    scale(x.rows(), range, -0.5);
    expect(
        x.rows(), [&](int64_t i, int64_t c) { return -0.5 * of_x(i, c); }, of_x);
    fill_zero(x.rows(), range);
    expect(
        x.rows(), [](int64_t, int64_t) { return 0.0; }, of_x);
    copy(x.rows(), x.rows(), range);
    expect(
        x.rows(), [](int64_t, int64_t) { return 0.0; }, of_x);
}

}  // namespace
}  // namespace dbench::arena
