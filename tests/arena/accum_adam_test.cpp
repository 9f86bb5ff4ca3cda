#include "arena/updates/accum_adam.hpp"

#include <cmath>

#include "arena/update_reference.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

constexpr double kLr = 0.01, kBeta1 = 0.9, kBeta2 = 0.99, kEps = 1e-6;

/// Rows of two replicas. base, at and gradient are drawn again for every step.
struct Run {
    Layout layout = ragged_layout();
    std::vector<double> decay = {0, 0.1, 0, 0.2, 0.1, 0, 0.3};
    DType type;
    int64_t window;
    bool decoupled;
    Buffer first, second, accumulated, base, at, gradient, out;

    Run(DType type, int64_t window, bool decoupled)
        : type(type),
          window(window),
          decoupled(decoupled),
          first(zeros()),
          second(zeros()),
          accumulated(zeros()),
          out(zeros()) {}

    Buffer zeros() const { return Buffer(type, 0, 2, layout.columns()); }
    void draw(int64_t t) {
        const uint64_t seed = 10 * static_cast<uint64_t>(t);
        base = random_rows(layout, type, 2, seed + 1);
        at = random_rows(layout, type, 2, seed + 2);
        gradient = random_rows(layout, type, 2, seed + 3);
    }
    AdamHyperparameters numbers(int64_t t) const {
        return {kLr, kBeta1, kBeta2, kEps, t, decoupled, decay};
    }
    void step(int64_t t, Columns columns, double* squared = nullptr) const {
        accum_adam_update(layout, out.rows(), base.rows(), at.rows(), gradient.rows(), first.rows(),
                          second.rows(), accumulated.rows(), columns, {numbers(t), window},
                          squared);
    }
    void step(int64_t t) {
        draw(t);
        step(t, layout.all());
    }
};

bool same_results(const Run& a, const Run& b) {
    return same_bits(a.out.rows(), b.out.rows()) && same_bits(a.first.rows(), b.first.rows()) &&
           same_bits(a.second.rows(), b.second.rows()) &&
           same_bits(a.accumulated.rows(), b.accumulated.rows());
}

/// The rule for one element, as published.
struct Element {
    double M = 0, V = 0, A = 0;
    double step(int64_t t, int64_t s, double base, double at, double g, double decay,
                bool decoupled) {
        if (!decoupled) g += decay * at;
        const double k = std::ceil(static_cast<double>(t) / static_cast<double>(s));
        A += g / static_cast<double>(s);
        const double m = kBeta1 * M + (1 - kBeta1) * g;
        const double v = kBeta2 * V + (1 - kBeta2) * g * g;
        const double root = std::sqrt(v / (1 - std::pow(kBeta2, k)));
        double d = m / (1 - std::pow(kBeta1, k)) / (root + kEps);
        if (decoupled) d += decay * at;
        if (t % s == 0) {
            M = kBeta1 * M + (1 - kBeta1) * A;
            V = kBeta2 * V + (1 - kBeta2) * A * A;
            A = 0;
        }
        return base - kLr * d;
    }
};

TEST_CASE("ten updates follow the published rule, with decay at the point of the gradient") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const int64_t window = GENERATE(1, 3, 4, 20);
    const bool decoupled = GENERATE(false, true);
    Run run(type, window, decoupled);
    std::vector<Element> elements(static_cast<size_t>(run.layout.columns()));
    double largest = 0;
    for (int64_t t = 1; t <= 10; ++t) {
        run.step(t);
        for (const Tensor& tensor : run.layout.tensors()) {
            const double decay = run.decay[&tensor - run.layout.tensors().data()];
            for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; ++c) {
                const double x = elements[c].step(
                    t, window, element(run.base.rows(), 1, c), element(run.at.rows(), 1, c),
                    element(run.gradient.rows(), 1, c), decay, decoupled);
                largest = std::max(largest, std::abs(element(run.out.rows(), 1, c) - x));
            }
        }
    }
    CHECK(largest < (type == DType::float32 ? 1e-6 : 1e-14));
    for (const Buffer* rows : {&run.out, &run.first, &run.second, &run.accumulated}) {
        CHECK(padding_is_zero(run.layout, rows->rows()));
    }
}

TEST_CASE("a window of 1 gives Adam's bits over many updates") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const bool decoupled = GENERATE(false, true);
    Run run(type, 1, decoupled);
    const Buffer out = run.zeros(), first = run.zeros(), second = run.zeros();
    for (int64_t t = 1; t <= 100; ++t) {
        run.step(t);
        adam_update(run.layout, out.rows(), run.base.rows(), run.at.rows(), run.gradient.rows(),
                    first.rows(), second.rows(), {}, run.layout.all(), run.numbers(t), nullptr);
        if (!same_bits(run.out.rows(), out.rows())) FAIL("update " << t);
    }
    CHECK(same_bits(run.first.rows(), first.rows()));
    CHECK(same_bits(run.second.rows(), second.rows()));
}

TEST_CASE("only the last update of a window changes the moments") {
    Run run(DType::float64, 4, false);
    const Buffer zero = run.zeros();
    for (int64_t t = 1; t <= 8; ++t) {
        const Buffer before = run.zeros();
        copy(run.first.rows(), before.rows(), run.layout.all());
        run.step(t);
        CHECK(same_bits(run.first.rows(), before.rows()) == (t % 4 != 0));
        CHECK(same_bits(run.accumulated.rows(), zero.rows()) == (t % 4 == 0));
    }
}

TEST_CASE("AccumAdam does not depend on the ranges of columns or on measuring squares") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const bool decoupled = GENERATE(false, true);
    Run whole(type, 3, decoupled), cut(type, 3, decoupled), measured(type, 3, decoupled);
    std::vector<Columns> ranges = cut_up(cut.layout);
    std::reverse(ranges.begin(), ranges.end());  // The order in which gradients become ready.
    std::vector<double> squared(2 * cut.layout.segments().size(), -1);
    for (int64_t t = 1; t <= 7; ++t) {
        whole.step(t);
        cut.draw(t);
        for (const Columns range : ranges) cut.step(t, range);
        measured.draw(t);
        for (const Columns range : cut_at_segments(cut.layout)) {
            measured.step(t, range, squared.data());
        }
        CHECK(same_results(whole, cut));
        CHECK(same_results(whole, measured));
        CHECK(matches_difference(whole.layout, whole.base.rows(), whole.out.rows(), squared));
    }
}

}  // namespace
}  // namespace dbench::arena
