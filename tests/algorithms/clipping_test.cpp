// Tests of gradient clipping.
#include "algorithms/step/clipping.hpp"

#include <cmath>
#include <limits>

#include "arena/kernels.hpp"
#include "arena/random_rows.hpp"
#include "catch.hpp"

using namespace dbench;
using namespace dbench::arena;
using Catch::Approx;

namespace {

double norm_of_clipping(const Layout& layout, const Rows& rows, int64_t i) {
    double sum = 0;
    for (int64_t c = 0; c < layout.columns(); ++c) sum += std::pow(element(rows, i, c), 2);
    return std::sqrt(sum);
}

void clip(const Layout& layout, const Rows& g, double norm) {
    algorithms::Clipping(norm).clip(layout, g, arena::host_queue());
}

void set_element(const Rows& rows, int64_t row, int64_t column, double value) {
    with_type(rows.type, [&]<class T>() { rows.row<T>(row)[column] = static_cast<T>(value); });
}

}  // namespace

TEST_CASE("rows longer than the norm are scaled to it, each by its own factor") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const Buffer g = random_rows(layout, type, 4, 1), before = random_rows(layout, type, 4, 1);
    scale(g.rows().only(1), layout.all(), 3);
    scale(g.rows().only(2), layout.all(), 0.001);
    fill_zero(g.rows().only(3), layout.all());
    clip(layout, g.rows(), 2.5);

    const double rounding = type == DType::float32 ? 1e-6 : 1e-14;
    for (const int64_t i : {0, 1}) {
        CHECK(norm_of_clipping(layout, g.rows(), i) == Approx(2.5).epsilon(rounding));
        const double factor = 2.5 / norm_of_clipping(layout, before.rows(), i);
        bool along = true;  // The direction does not change.
        for (int64_t c = 0; c < layout.columns(); ++c) {
            const double wanted = factor * element(before.rows(), i, c);
            along &= std::abs(element(g.rows(), i, c) - wanted) <= rounding * std::abs(wanted);
        }
        CHECK(along);
    }
    const Buffer small = random_rows(layout, type, 4, 1);
    scale(small.rows().only(2), layout.all(), 0.001);
    CHECK(same_bits(g.rows().only(2), small.rows().only(2)));
    CHECK(norm_of_clipping(layout, g.rows(), 3) == 0);
    CHECK(padding_is_zero(layout, g.rows()));
}

TEST_CASE("the norm covers all tensors, and a row of exactly that norm does not change") {
    Layout layout;
    layout.add("a", {2}, TensorKind::weight);
    layout.add("b", {1}, TensorKind::bias);
    const Buffer g(DType::float64, 7, 1, layout.columns());
    set_element(g.rows(), 0, 1, 3);
    set_element(g.rows(), 0, layout.tensors()[1].offset, -4);
    clip(layout, g.rows(), 5);
    CHECK(element(g.rows(), 0, 1) == 3);
    clip(layout, g.rows(), 1);
    CHECK(element(g.rows(), 0, 1) == Approx(0.6));
    CHECK(element(g.rows(), 0, layout.tensors()[1].offset) == Approx(-0.8));
}

TEST_CASE("a row whose norm is not finite does not change, and its neighbours are clipped") {
    const Layout layout = ragged_layout();
    const double bad =
        GENERATE(std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN());
    const Buffer g = random_rows(layout, DType::float32, 3, 2);
    const Buffer before = random_rows(layout, DType::float32, 3, 2);
    for (const Buffer* rows : {&g, &before}) set_element(rows->rows(), 1, 20, bad);
    clip(layout, g.rows(), 1);
    CHECK(same_bits(g.rows().only(1), before.rows().only(1)));
    for (const int64_t i : {0, 2})
        CHECK(norm_of_clipping(layout, g.rows(), i) == Approx(1).epsilon(1e-6));
}
