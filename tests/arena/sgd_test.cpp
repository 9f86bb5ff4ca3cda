#include "arena/update_reference.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

struct SgdCase {
    double momentum;
    bool nesterov;
    double decay;
    std::array<double, 4> pytorch;
};

TEST_CASE("three steps of SGD equal PyTorch's") {
    const SgdCase c = GENERATE(
        SgdCase{0, false, 0, {0.51, -1.315, 2.0475, -0.695}},
        SgdCase{0, false, 0.01, {0.50847148949999998, -1.31126872875, 2.041578468, -0.69277228925}},
        SgdCase{0.9, false, 0.01, {0.5350853895, -1.29634447875, 1.973866068, -0.66914413925}},
        SgdCase{0.9,
                true,
                0.01,
                {0.54001486198049997, -1.35304169924625, 2.018238661512, -0.61998303021575007}});
    for (const DType type : {DType::float32, DType::float64}) {
        const Buffer velocity(type, 0, c.momentum == 0 ? 0 : 1, 16);
        const auto result =
            three_steps(type, [&](const Layout& layout, const Rows& x, const Rows& g, int) {
                const std::vector<double> decay = {c.decay};
                sgd_update(layout, x, x, x, g, velocity.rows(), layout.all(),
                           {0.1, c.momentum, c.nesterov, decay}, nullptr);
            });
        CHECK(largest_difference(result, c.pytorch) < (type == DType::float32 ? 1e-6 : 1e-15));
    }
}

/// The rows that an SGD step reads and writes.
struct SgdMaterial {
    Layout layout = ragged_layout();
    std::vector<double> decay = {0, 0.1, 0, 0.2, 0.1, 0, 0.3};
    Buffer base, at, gradient, velocity, out;
    explicit SgdMaterial(DType type)
        : base(random_rows(layout, type, 2, 1)),
          at(random_rows(layout, type, 2, 2)),
          gradient(random_rows(layout, type, 2, 3)),
          velocity(random_rows(layout, type, 2, 4)),
          out(type, 0, 2, layout.columns()) {}
    SgdHyperparameters numbers(double momentum, bool nesterov) const {
        return {0.05, momentum, nesterov, decay};
    }
    void step(const Rows& to, const SgdHyperparameters& with, Columns columns,
              double* squared) const {
        sgd_update(layout, to, base.rows(), at.rows(), gradient.rows(), velocity.rows(), columns,
                   with, squared);
    }
};

TEST_CASE("base, point of the gradient and result may be three different rows") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const bool nesterov = GENERATE(false, true);
    const SgdMaterial m(type);
    const Buffer before = random_rows(m.layout, type, 2, 4);
    m.step(m.out.rows(), m.numbers(0.9, nesterov), m.layout.all(), nullptr);
    const double tolerance = type == DType::float32 ? 1e-6 : 1e-15;
    bool right = true;
    for (int64_t i = 0; i < 2; ++i) {
        for (const Tensor& tensor : m.layout.tensors()) {
            const double decay = m.decay[&tensor - m.layout.tensors().data()];
            for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; ++c) {
                const double g =
                    element(m.gradient.rows(), i, c) + decay * element(m.at.rows(), i, c);
                const double v = 0.9 * element(before.rows(), i, c) + g;
                const double d = nesterov ? g + 0.9 * v : v;
                const double x = element(m.base.rows(), i, c) - 0.05 * d;
                right &= std::abs(element(m.velocity.rows(), i, c) - v) <= 10 * tolerance;
                right &= std::abs(element(m.out.rows(), i, c) - x) <= 10 * tolerance;
            }
        }
    }
    CHECK(right);
    CHECK(padding_is_zero(m.layout, m.out.rows()));
    CHECK(padding_is_zero(m.layout, m.velocity.rows()));
}

TEST_CASE("an SGD step does not depend on the ranges of columns or on measuring squares") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const double momentum = GENERATE(0.0, 0.9);
    const bool nesterov = GENERATE(false, true);
    const SgdMaterial whole(type), cut(type), measured(type);
    const SgdHyperparameters numbers = whole.numbers(momentum, nesterov);
    whole.step(whole.out.rows(), numbers, whole.layout.all(), nullptr);

    for (const Columns range : cut_up(cut.layout)) {
        cut.step(cut.out.rows(), numbers, range, nullptr);
    }
    CHECK(same_bits(whole.out.rows(), cut.out.rows()));
    CHECK(same_bits(whole.velocity.rows(), cut.velocity.rows()));

    std::vector<double> squared(2 * cut.layout.segments().size(), -1);
    for (const Columns range : cut_at_segments(cut.layout)) {
        measured.step(measured.out.rows(), numbers, range, squared.data());
    }
    CHECK(same_bits(whole.out.rows(), measured.out.rows()));
    CHECK(matches_difference(whole.layout, whole.base.rows(), whole.out.rows(), squared));
}

TEST_CASE("an SGD step in place gives the bits of a step into other rows") {
    const SgdMaterial apart(DType::float32), in_place(DType::float32);
    const SgdHyperparameters numbers = apart.numbers(0.9, true);
    apart.step(apart.out.rows(), numbers, apart.layout.all(), nullptr);
    in_place.step(in_place.base.rows(), numbers, in_place.layout.all(), nullptr);
    CHECK(same_bits(apart.out.rows(), in_place.base.rows()));
    in_place.step(in_place.at.rows(), numbers, {0, 16}, nullptr);
    CHECK(in_place.at.rows().row<float>(0)[7] == 0);
}

TEST_CASE("the measured squares have the bits of the squares of lr d") {
    const SgdMaterial m(DType::float32);
    fill_zero(m.base.rows(), m.layout.all());  // Then out = 0 - lr d is exact.
    const size_t segments = m.layout.segments().size();
    std::vector<double> squared(2 * segments), expected(2 * segments);
    m.step(m.out.rows(), m.numbers(0.9, false), m.layout.all(), squared.data());
    squares(m.layout, m.out.rows(), m.layout.all(), expected.data());
    CHECK(squared == expected);
}

}  // namespace
}  // namespace dbench::arena
