// Properties of the kernels of dadam, d_amsgrad and adagossip that `dbench conform` does not check.
// It compares the algorithms with dense references.

#include "arena/updates/adaptive.hpp"

#include "arena/update_reference.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

struct AdaptiveMaterial {
    Layout layout = ragged_layout();
    DType type;
    Buffer x = rows(1), g = rows(2), a = rows(3), b = rows(4), c = rows(5), out = rows(6);
    explicit AdaptiveMaterial(DType t) : type(t) {}

    /// Runs every kernel once in `columns`, with the squares of both updates.
    void pass(Columns columns, double* squared_a = nullptr, double* squared_b = nullptr) const {
        dadam_update(layout, out.rows(), x.rows(), g.rows(), a.rows(), b.rows(), c.rows(), columns,
                     {0.01, 0.9, 0.99, 0.5, 1e-3, 3}, squared_a);
        approach_adaptively(layout, x.rows(), a.rows(), out.rows(), c.rows(), columns,
                            {0.1, 0.9, 2});
        largest_moments(layout, g.rows(), a.rows(), b.rows(), c.rows(), columns, 0.8, 0.7, 0.01);
        descend_by_size(layout, out.rows(), x.rows(), a.rows(), c.rows(), columns, 0.01, 1e-3,
                        squared_b);
    }
    bool equals(const AdaptiveMaterial& other) const {
        bool same = true;
        for (const auto member :
             {&AdaptiveMaterial::x, &AdaptiveMaterial::g, &AdaptiveMaterial::a,
              &AdaptiveMaterial::b, &AdaptiveMaterial::c, &AdaptiveMaterial::out}) {
            same &= same_bits((this->*member).rows(), (other.*member).rows());
        }
        return same;
    }

private:
    /// Random rows; those that serve as second moments are not negative.
    Buffer rows(uint64_t seed) const {
        Buffer buffer = random_rows(layout, type, 2, seed);
        if (seed != 4 && seed != 5) return buffer;
        with_type(type, [&]<class T>() {
            for (int64_t i = 0; i < 2; ++i) {
                T* row = buffer.rows().row<T>(i);
                for (int64_t k = 0; k < layout.columns(); ++k) row[k] = std::abs(row[k]);
            }
        });
        return buffer;
    }
};

TEST_CASE("adaptive kernels do not depend on the ranges of columns or on measuring squares") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const AdaptiveMaterial whole(type), cut(type), measured(type);
    whole.pass(whole.layout.all());
    for (const Columns range : cut_up(cut.layout)) cut.pass(range);
    CHECK(whole.equals(cut));

    const size_t segments = 2 * measured.layout.segments().size();
    std::vector<double> first(segments, -1), second(segments, -1);
    for (const Columns range : cut_at_segments(measured.layout)) {
        measured.pass(range, first.data(), second.data());
    }
    CHECK(whole.equals(measured));
    CHECK(matches_difference(whole.layout, whole.x.rows(), whole.out.rows(), second));
    CHECK(*std::min_element(first.begin(), first.end()) >= 0);
    for (const auto member : {&AdaptiveMaterial::x, &AdaptiveMaterial::a, &AdaptiveMaterial::b,
                              &AdaptiveMaterial::c, &AdaptiveMaterial::out}) {
        CHECK(padding_is_zero(whole.layout, (whole.*member).rows()));
    }
}

TEST_CASE("an element that equals its neighbours does not move, others move by at most gamma") {
    Layout layout;
    layout.add("x", {3}, TensorKind::weight);
    const DType type = DType::float64;
    const Buffer x(type, 0, 1, 16), from(type, 0, 1, 16), to(type, 0, 1, 16), v(type, 0, 1, 16);
    double* target = to.rows().row<double>(0);
    target[1] = 1e-4, target[2] = 5;
    approach_adaptively(layout, x.rows(), from.rows(), to.rows(), v.rows(), layout.all(),
                        {0.01, 0.9, 1});
    CHECK(element(x.rows(), 0, 0) == 0);
    CHECK(element(x.rows(), 0, 1) == 1e-4);  // A distance below gamma is moved completely.
    CHECK(element(x.rows(), 0, 2) == Approx(0.01));
}

TEST_CASE("the gradient becomes the growth of the largest moment, which never shrinks") {
    Layout layout;
    layout.add("x", {2}, TensorKind::weight);
    const DType type = DType::float64;
    const Buffer g(type, 0, 1, 16), first(type, 0, 1, 16), second(type, 0, 1, 16),
        largest(type, 0, 1, 16);
    for (const int64_t k : {0, 1}) {
        g.rows().row<double>(0)[k] = 2;
        second.rows().row<double>(0)[k] = 1;
        largest.rows().row<double>(0)[k] = k == 0 ? 0.5 : 3;
    }
    largest_moments(layout, g.rows(), first.rows(), second.rows(), largest.rows(), layout.all(),
                    0.8, 0.7, 0.01);
    const double moment = 0.7 * 1 + 0.3 * 4;
    for (const int64_t k : {0, 1}) {
        CHECK(element(first.rows(), 0, k) == Approx(0.2 * 2));
        CHECK(element(second.rows(), 0, k) == Approx(moment));
    }
    CHECK(element(largest.rows(), 0, 0) == Approx(moment - 0.01));
    CHECK(element(g.rows(), 0, 0) == Approx(moment - 0.01 - 0.5));
    CHECK(element(largest.rows(), 0, 1) == 3);
    CHECK(element(g.rows(), 0, 1) == 0);
}

}  // namespace
}  // namespace dbench::arena
