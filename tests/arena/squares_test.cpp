#include <cmath>

#include "arena/kernels.hpp"
#include "arena/random_rows.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

TEST_CASE("squares of a known row") {
    Layout layout;
    layout.add("a", {3}, TensorKind::weight);
    layout.add("b", {kBlock + 2}, TensorKind::weight);
    const Buffer x(DType::float32, 0, 2, layout.columns());
    x.rows().row<float>(1)[0] = 3;
    x.rows().row<float>(1)[2] = -4;
    for (int64_t c = 16; c < 16 + kBlock; ++c) x.rows().row<float>(1)[c] = 0.5f;
    x.rows().row<float>(1)[16 + kBlock + 1] = 2;
    std::vector<double> sums(6, -1);
    squares(layout, x.rows(), layout.all(), sums.data());
    CHECK(sums == std::vector<double>{0, 0, 0, 25, kBlock / 4.0, 4});
}

TEST_CASE("squares agree with long double sums in both precisions") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const Buffer x = random_rows(layout, type, 2, 1);
    const size_t segments = layout.segments().size();
    std::vector<double> sums(2 * segments);
    squares(layout, x.rows(), layout.all(), sums.data());
    for (int64_t i = 0; i < 2; ++i) {
        for (size_t s = 0; s < segments; ++s) {
            long double expected = 0;
            for (int64_t c = layout.segments()[s].begin; c < layout.segments()[s].end; ++c) {
                const long double value = element(x.rows(), i, c);
                expected += value * value;
            }
            CHECK(sums[i * segments + s] ==
                  Catch::Approx(static_cast<double>(expected)).epsilon(1e-14));
        }
    }
}

TEST_CASE("squares do not depend on the ranges of columns and write only their segments") {
    const Layout layout = ragged_layout();
    const Buffer x = random_rows(layout, DType::float32, 3, 2);
    const size_t segments = layout.segments().size();
    std::vector<double> whole(3 * segments), cut(3 * segments, -1);
    squares(layout, x.rows(), layout.all(), whole.data());
    for (const Columns range : cut_at_segments(layout)) {
        squares(layout, x.rows(), range, cut.data());
    }
    CHECK(whole == cut);

    std::vector<double> some(3 * segments, -1);
    squares(layout, x.rows(), {layout.tensors()[2].offset, layout.tensors()[4].offset},
            some.data());
    for (size_t s = 0; s < segments; ++s) {
        const int tensor = layout.segments()[s].tensor;
        CHECK(some[s] == (tensor == 2 || tensor == 3 ? whole[s] : -1));
    }
}

TEST_CASE("a non-finite element makes the sum of its segment non-finite") {
    const Layout layout = ragged_layout();
    const Buffer x = random_rows(layout, DType::float32, 1, 3);
    x.rows().row<float>(0)[2] = INFINITY;
    x.rows().row<float>(0)[17] = NAN;
    std::vector<double> sums(layout.segments().size());
    squares(layout, x.rows(), layout.all(), sums.data());
    CHECK(std::isinf(sums[0]));
    CHECK(std::isnan(sums[1]));
    CHECK(std::isfinite(sums[2]));
}

}  // namespace
}  // namespace dbench::arena
