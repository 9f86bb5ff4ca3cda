#include "arena/update_reference.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

struct AdamCase {
    double beta1, beta2, eps, decay;
    bool decoupled;
    std::array<double, 4> pytorch;
};

TEST_CASE("three steps of Adam and AdamW equal PyTorch's") {
    const AdamCase c = GENERATE(
        AdamCase{
            0.9,
            0.999,
            1e-8,
            0.01,
            false,
            {0.46506430582577496, -1.2212183845185995, 1.8415438985186798, -0.7726114699251867}},
        AdamCase{
            0.3,
            0.5,
            0.01,
            0,
            false,
            {0.46314871975462113, -1.3112243727744655, 1.9103671369835367, -0.74155045465117742}},
        AdamCase{
            0.9,
            0.999,
            1e-8,
            0.05,
            true,
            {0.46052462723312226, -1.2108201422107479, 1.8174744737037996, -0.76262579622033888}});
    for (const DType type : {DType::float32, DType::float64}) {
        const Buffer first(type, 0, 1, 16), second(type, 0, 1, 16);
        const auto result =
            three_steps(type, [&](const Layout& layout, const Rows& x, const Rows& g, int t) {
                const std::vector<double> decay = {c.decay};
                adam_update(layout, x, x, x, g, first.rows(), second.rows(), {}, layout.all(),
                            {0.1, c.beta1, c.beta2, c.eps, t + 1, c.decoupled, decay}, nullptr);
            });
        CHECK(largest_difference(result, c.pytorch) < (type == DType::float32 ? 2e-6 : 1e-14));
    }
}

struct AdamMaterial {
    Layout layout = ragged_layout();
    std::vector<double> decay = {0, 0.1, 0, 0.2, 0.1, 0, 0.3};
    Buffer base, at, gradient, first, second, out;
    explicit AdamMaterial(DType type)
        : base(random_rows(layout, type, 2, 1)),
          at(random_rows(layout, type, 2, 2)),
          gradient(random_rows(layout, type, 2, 3)),
          first(random_rows(layout, type, 2, 4)),
          second(type, 0, 2, layout.columns()),
          out(type, 0, 2, layout.columns()) {}
    void step(const Rows& to, bool decoupled, Columns columns, double* squared) const {
        const AdamHyperparameters numbers{0.01, 0.9, 0.99, 1e-6, 7, decoupled, decay};
        adam_update(layout, to, base.rows(), at.rows(), gradient.rows(), first.rows(),
                    second.rows(), {}, columns, numbers, squared);
    }
};

TEST_CASE("decay uses the point of the gradient and the step starts from the base") {
    const bool decoupled = GENERATE(false, true);
    const AdamMaterial m(DType::float64);
    const Buffer before = random_rows(m.layout, DType::float64, 2, 4);
    m.step(m.out.rows(), decoupled, m.layout.all(), nullptr);
    bool right = true;
    for (const Tensor& tensor : m.layout.tensors()) {
        const double decay = m.decay[&tensor - m.layout.tensors().data()];
        for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; ++c) {
            const double at = element(m.at.rows(), 1, c);
            const double g = element(m.gradient.rows(), 1, c) + (decoupled ? 0 : decay * at);
            const double first = 0.9 * element(before.rows(), 1, c) + 0.1 * g;
            const double second = 0.01 * g * g;
            const double root = std::sqrt(second / (1 - std::pow(0.99, 7)));
            const double d = first / (1 - std::pow(0.9, 7)) / (root + 1e-6);
            const double x =
                element(m.base.rows(), 1, c) - 0.01 * (d + (decoupled ? decay * at : 0));
            right &= std::abs(element(m.out.rows(), 1, c) - x) < 1e-12 * (1 + std::abs(d));
            right &= std::abs(element(m.second.rows(), 1, c) - second) < 1e-14;
        }
    }
    CHECK(right);
    CHECK(padding_is_zero(m.layout, m.out.rows()));
    CHECK(padding_is_zero(m.layout, m.second.rows()));
}

TEST_CASE("an Adam step does not depend on the ranges of columns or on measuring squares") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const bool decoupled = GENERATE(false, true);
    const AdamMaterial whole(type), cut(type), measured(type);
    whole.step(whole.out.rows(), decoupled, whole.layout.all(), nullptr);

    for (const Columns range : cut_up(cut.layout)) {
        cut.step(cut.base.rows(), decoupled, range, nullptr);
    }
    CHECK(same_bits(whole.out.rows(), cut.base.rows()));
    CHECK(same_bits(whole.first.rows(), cut.first.rows()));
    CHECK(same_bits(whole.second.rows(), cut.second.rows()));

    std::vector<double> squared(2 * cut.layout.segments().size(), -1);
    for (const Columns range : cut_at_segments(cut.layout)) {
        measured.step(measured.out.rows(), decoupled, range, squared.data());
    }
    CHECK(same_bits(whole.out.rows(), measured.out.rows()));
    CHECK(matches_difference(whole.layout, whole.base.rows(), whole.out.rows(), squared));
}

TEST_CASE("with amsgrad a shrinking second moment does not increase the step") {
    Layout layout;
    layout.add("x", {1}, TensorKind::weight);
    const Buffer x(DType::float64, 0, 1, 16), g(DType::float64, 0, 1, 16);
    const Buffer first(DType::float64, 0, 1, 16), second(DType::float64, 0, 1, 16);
    const Buffer largest(DType::float64, 0, 1, 16);
    const std::vector<double> decay = {0};
    double v = 0, most = 0, expected = 0;
    for (int64_t t = 1; t <= 6; ++t) {
        const double gradient = t == 2 ? 10 : 1;  // One large gradient; AMSGrad keeps its second
                                                  // moment.
        g.rows().row<double>(0)[0] = gradient;
        adam_update(layout, x.rows(), x.rows(), x.rows(), g.rows(), first.rows(), second.rows(),
                    largest.rows(), layout.all(), {0.1, 0, 0.5, 0, t, false, decay, false},
                    nullptr);
        v = 0.5 * v + 0.5 * gradient * gradient;
        most = std::max(most, v);
        expected -= 0.1 * gradient / std::sqrt(most);
    }
    CHECK(most > 10 * v);
    CHECK(element(x.rows(), 0, 0) == Approx(expected).epsilon(1e-14));
    CHECK(element(largest.rows(), 0, 0) == Approx(most).epsilon(1e-14));
}

TEST_CASE("with beta1 = 0 the first moment is the gradient itself") {
    Layout layout;
    layout.add("x", {4}, TensorKind::weight);
    const Buffer x(DType::float32, 0, 1, 16), g = random_rows(layout, DType::float32, 1, 1);
    const Buffer first = random_rows(layout, DType::float32, 1, 2);
    const Buffer second(DType::float32, 0, 1, 16);
    const std::vector<double> decay = {0};
    adam_update(layout, x.rows(), x.rows(), x.rows(), g.rows(), first.rows(), second.rows(), {},
                layout.all(), {0.1, 0, 0.9, 1e-8, 1, false, decay}, nullptr);
    CHECK(same_bits(first.rows(), g.rows()));
}

}  // namespace
}  // namespace dbench::arena
