// The passes of dadam, d_amsgrad and adagossip: `dbench conform` compares what comes of them with
// dense references; here stands what that does not see.

#include "arena/updates/adaptive.hpp"

#include "arena/update_reference.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

struct Material {
    Layout layout = ragged_layout();
    DType type;
    Buffer x = rows(1), g = rows(2), a = rows(3), b = rows(4), c = rows(5), out = rows(6);
    explicit Material(DType t) : type(t) {}

    /// Every pass once, in `columns`; squares of both updates.
    void pass(Columns columns, double* squared_a = nullptr, double* squared_b = nullptr) const {
        dadam_update(layout, out.rows(), x.rows(), g.rows(), a.rows(), b.rows(), c.rows(), columns,
                     {0.01, 0.9, 0.99, 0.5, 1e-3, 3}, squared_a);
        approach_adaptively(layout, x.rows(), a.rows(), out.rows(), c.rows(), columns,
                            {0.1, 0.9, 2});
        largest_moments(layout, g.rows(), a.rows(), b.rows(), c.rows(), columns, 0.8, 0.7, 0.01);
        descend_by_size(layout, out.rows(), x.rows(), a.rows(), c.rows(), columns, 0.01, 1e-3,
                        squared_b);
    }
    bool equals(const Material& other) const {
        bool same = true;
        for (const auto member : {&Material::x, &Material::g, &Material::a, &Material::b,
                                  &Material::c, &Material::out}) {
            same &= same_bits((this->*member).rows(), (other.*member).rows());
        }
        return same;
    }

private:
    /// Random numbers that, as second moments, are not negative.
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

TEST_CASE("adaptive passes do not depend on how columns are cut, nor on being measured") {
    const DType type = GENERATE(DType::float32, DType::float64);
    const Material whole(type), cut(type), measured(type);
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
    for (const auto member :
         {&Material::x, &Material::a, &Material::b, &Material::c, &Material::out}) {
        CHECK(padding_is_zero(whole.layout, (whole.*member).rows()));
    }
}

TEST_CASE("an element whose neighbours agree with it stays, others move by gamma at most") {
    Layout layout;
    layout.add("x", {3}, TensorKind::weight);
    const DType type = DType::float64;
    const Buffer x(type, 0, 1, 16), from(type, 0, 1, 16), to(type, 0, 1, 16), v(type, 0, 1, 16);
    double* target = to.rows().row<double>(0);
    target[1] = 1e-4, target[2] = 5;
    approach_adaptively(layout, x.rows(), from.rows(), to.rows(), v.rows(), layout.all(),
                        {0.01, 0.9, 1});
    CHECK(element(x.rows(), 0, 0) == 0);
    CHECK(element(x.rows(), 0, 1) == 1e-4);  // nearer than gamma: all the way
    CHECK(element(x.rows(), 0, 2) == Approx(0.01));
}

}  // namespace
}  // namespace dbench::arena
