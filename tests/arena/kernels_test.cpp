#include "arena/kernels.hpp"

#include <cmath>
#include <limits>

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

TEST_CASE("a non-finite element is found at any position, and only in the given columns") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const double value =
        GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                 -std::numeric_limits<double>::infinity());
    const Buffer x = random_rows(layout, type, 3, 3);
    std::vector<uint8_t> found(3, 9);
    find_nonfinite(x.rows(), layout.all(), found);
    CHECK(found == std::vector<uint8_t>{0, 0, 0});
    for (const int64_t column : {0, 1, 100, 5000, static_cast<int>(layout.columns()) - 7}) {
        with_type(type, [&]<class T>() {
            T& element = x.rows().row<T>(1)[column];
            const T before = element;
            element = static_cast<T>(value);
            find_nonfinite(x.rows(), layout.all(), found);
            CHECK(found == std::vector<uint8_t>{0, 1, 0});
            find_nonfinite(x.rows(), {column / 16 * 16 + 16, layout.columns()}, found);
            CHECK(found == std::vector<uint8_t>{0, 0, 0});
            element = before;
        });
    }
}

TEST_CASE("the largest and smallest finite numbers are finite") {
    const Buffer x(DType::float32, 0, 1, 16);
    x.rows().row<float>(0)[3] = std::numeric_limits<float>::max();
    x.rows().row<float>(0)[4] = -std::numeric_limits<float>::max();
    x.rows().row<float>(0)[5] = std::numeric_limits<float>::denorm_min();
    std::vector<uint8_t> found(1, 9);
    find_nonfinite(x.rows(), {0, 16}, found);
    CHECK(found[0] == 0);
}

}  // namespace
}  // namespace dbench::arena
