#include <algorithm>
#include <cmath>

#include "arena/kernels.hpp"
#include "arena/random_rows.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

using Weights = std::vector<std::vector<std::pair<int, double>>>;  // Per row: (source, weight).

Weights random_weights(int64_t outputs, int sources, int degree, uint64_t seed) {
    base::Random random(seed, base::Purpose::graph);
    Weights weights(static_cast<size_t>(outputs));
    for (auto& row : weights) {
        for (int k = 0; k < degree; ++k) {
            const int source = static_cast<int>(random.below(static_cast<uint64_t>(sources)));
            row.emplace_back(source, random.normal());
        }
    }
    return weights;
}

std::vector<std::vector<Term>> terms_of(const Weights& weights, const Rows& sources) {
    std::vector<std::vector<Term>> terms;
    for (const auto& row : weights) {
        terms.emplace_back();
        for (const auto& [source, weight] : row) {
            terms.back().push_back({sources.at(source, 0), weight});
        }
    }
    return terms;
}

/// The definition, element by element, in the element type.
template <class T>
void reference(const Weights& weights, const Rows& x, const Rows& out) {
    for (int64_t i = 0; i < out.count; ++i) {
        for (int64_t c = 0; c < out.stride; ++c) {
            T sum = 0;
            bool first = true;
            for (const auto& [source, weight] : weights[i]) {
                const T term = static_cast<T>(weight) * x.row<T>(source)[c];
                sum = first ? term : sum + term;
                first = false;
            }
            out.row<T>(i)[c] = sum;
        }
    }
}

Buffer reference(const Weights& weights, const Rows& x, int64_t outputs) {
    Buffer out(x.type, 0, outputs, x.stride);
    with_type(x.type, [&]<class T>() { reference<T>(weights, x, out.rows()); });
    return out;
}

TEST_CASE("weighted sums give the definition's bits for any degree") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const int degree = GENERATE(0, 1, 2, 3, 5, 8, 9, 16, 21);
    const Buffer x = random_rows(layout, type, 9, 1);
    const Weights weights = random_weights(5, 9, degree, 2);
    const Buffer expected = reference(weights, x.rows(), 5);
    const Buffer out = random_rows(layout, type, 5, 3);
    weighted_sums(terms_of(weights, x.rows()), out.rows(), layout.all());
    CHECK(same_bits(out.rows(), expected.rows()));
    CHECK(padding_is_zero(layout, out.rows()));
}

TEST_CASE("an output may be a source") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const Buffer x = random_rows(layout, type, 8, 4);
    const Weights weights = random_weights(8, 8, 4, 5);
    const Buffer expected = reference(weights, x.rows(), 8);
    weighted_sums(terms_of(weights, x.rows()), x.rows(), layout.all());
    CHECK(same_bits(x.rows(), expected.rows()));
}

TEST_CASE("some outputs may be sources and others not") {
    const Layout layout = ragged_layout();
    const Buffer x = random_rows(layout, DType::float32, 8, 6);
    const Weights weights = random_weights(3, 8, 6, 7);
    const Buffer expected = reference(weights, x.rows(), 3);
    Rows out = x.rows();  // Rows 2, 3, 4 are written, all eight are read.
    out.data = x.rows().at(2, 0);
    out.count = 3;
    const auto terms = terms_of(weights, x.rows());
    weighted_sums(terms, out, layout.all());
    CHECK(same_bits(out, expected.rows()));
}

TEST_CASE("weighted sums do not depend on the ranges of columns") {
    const Layout layout = ragged_layout();
    const bool in_place = GENERATE(false, true);
    const Buffer x = random_rows(layout, DType::float32, 6, 8);
    const Buffer out = random_rows(layout, DType::float32, 6, 9);
    const Weights weights = random_weights(6, 6, 5, 10);
    const Buffer expected = reference(weights, x.rows(), 6);
    const Rows target = in_place ? x.rows() : out.rows();
    for (const Columns range : cut_up(layout)) {
        weighted_sums(terms_of(weights, x.rows()), target, range);
    }
    CHECK(same_bits(target, expected.rows()));
}

TEST_CASE("weighted sums write only their range of columns") {
    const Layout layout = ragged_layout();
    const Buffer x = random_rows(layout, DType::float32, 4, 11);
    const Buffer before = random_rows(layout, DType::float32, 4, 11);
    const Weights weights = random_weights(4, 4, 3, 12);
    weighted_sums(terms_of(weights, x.rows()), x.rows(), {64, 1088});
    const Buffer mixed = reference(weights, before.rows(), 4);
    bool inside = true, outside = true;
    for (int64_t i = 0; i < 4; ++i) {
        for (int64_t c = 0; c < layout.columns(); ++c) {
            const double is = element(x.rows(), i, c);
            if (c >= 64 && c < 1088) {
                inside &= is == element(mixed.rows(), i, c);
            } else {
                outside &= is == element(before.rows(), i, c);
            }
        }
    }
    CHECK(inside);
    CHECK(outside);
}

TEST_CASE("mixing a thousand rows in place preserves their mean") {
    Layout layout;
    layout.add("w", {700}, TensorKind::weight);
    const int n = 1008;
    const Buffer x = random_rows(layout, DType::float64, n, 13);
    Weights ring;
    for (int i = 0; i < n; ++i) {
        ring.push_back({{(i + n - 1) % n, 1.0 / 3}, {i, 1.0 / 3}, {(i + 1) % n, 1.0 / 3}});
    }
    const Buffer expected = reference(ring, x.rows(), n);
    const auto column_mean = [&](int64_t c) {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += element(x.rows(), i, c);
        return sum / n;
    };
    const double before[] = {column_mean(0), column_mean(699)};
    weighted_sums(terms_of(ring, x.rows()), x.rows(), layout.all());
    CHECK(same_bits(x.rows(), expected.rows()));
    CHECK(std::abs(column_mean(0) - before[0]) < 1e-15);
    CHECK(std::abs(column_mean(699) - before[1]) < 1e-15);
}

TEST_CASE("results with non-temporal stores have the same bits") {
    Layout layout;
    layout.add("w", {2000003}, TensorKind::weight);
    const Buffer x(DType::float32, 0, 3, layout.columns()),
        whole(DType::float32, 0, 3, x.rows().stride);
    const Buffer cut(DType::float32, 0, 3, layout.columns());
    for (int64_t i = 0; i < 3; ++i) {
        for (int64_t c = 0; c < 2000003; ++c) {
            x.rows().row<float>(i)[c] = 1.0f / static_cast<float>(3 * c + i + 1);
        }
    }
    const auto terms = terms_of(random_weights(3, 3, 3, 14), x.rows());
    weighted_sums(terms, whole.rows(), layout.all());
    for (int64_t begin = 0; begin < layout.columns(); begin += 100000) {
        weighted_sums(terms, cut.rows(), {begin, std::min(begin + 100000, layout.columns())});
    }
    CHECK(same_bits(whole.rows(), cut.rows()));
    CHECK(whole.rows().row<float>(2)[2000002] != 0);
}

/// The definition of a mean: differences from the first row.
template <class T>
void mean_reference(const Weights& weights, const Rows& x, const Rows& out) {
    for (int64_t i = 0; i < out.count; ++i) {
        double total = 0;
        for (const auto& [source, weight] : weights[i]) total += weight;
        if (std::abs(total - 1) < 1e-12) total = 1;
        const T* const base = x.row<T>(weights[i][0].first);
        for (int64_t c = 0; c < out.stride; ++c) {
            T sum = 0;
            for (size_t k = 1; k < weights[i].size(); ++k) {
                const auto& [source, weight] = weights[i][k];
                const T term = static_cast<T>(weight) * (x.row<T>(source)[c] - base[c]);
                sum = k == 1 ? term : sum + term;
            }
            const T first = static_cast<T>(total) * base[c];
            out.row<T>(i)[c] = weights[i].size() == 1 ? first : first + sum;
        }
    }
}

/// Returns weights that sum to `total`; none of them is exact in float32.
Weights weights_to(double total, int64_t outputs, int sources, int degree) {
    Weights weights = random_weights(outputs, sources, degree, 15);
    for (auto& row : weights) {
        double sum = 0;
        for (size_t k = 1; k < row.size(); ++k) sum += row[k].second;
        row[0].second = total - sum;
    }
    return weights;
}

TEST_CASE("weighted means give the definition's bits for any degree") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const int degree = GENERATE(1, 2, 3, 8, 9, 10, 17, 25);
    const double total = GENERATE(1.0, 0.7);
    const bool in_place = GENERATE(false, true);
    const Buffer x = random_rows(layout, type, 9, 16), other = random_rows(layout, type, 9, 17);
    const Weights weights = weights_to(total, 9, 9, degree);
    const Buffer expected(type, 0, 9, layout.columns());
    with_type(type, [&]<class T>() { mean_reference<T>(weights, x.rows(), expected.rows()); });
    const Rows out = in_place ? x.rows() : other.rows();
    for (const Columns range : cut_up(layout)) {
        weighted_means(terms_of(weights, x.rows()), out, range);
    }
    CHECK(same_bits(out, expected.rows()));
}

TEST_CASE("the weighted mean of equal rows has the bits of that row") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const int degree = GENERATE(1, 2, 3, 5, 9, 33);
    const Buffer one = random_rows(layout, type, 1, 18), out(type, 0, 1, layout.columns());
    const Weights weights = weights_to(1, 1, 1, degree);
    std::vector<Term> terms;
    for (const auto& [source, weight] : weights[0]) {
        terms.push_back({one.rows().at(0, 0), weight});
    }
    weighted_means(std::span(&terms, 1), out.rows(), layout.all());
    CHECK(same_bits(out.rows(), one.rows()));
}

TEST_CASE("an empty range of columns changes nothing") {
    const Buffer x(DType::float32, 0, 2, 32);
    const std::vector<std::vector<Term>> terms(2, {{x.rows().at(0, 0), 1.0}});
    weighted_sums(terms, x.rows(), {16, 16});
    CHECK(x.rows().row<float>(1)[16] == 0);
}

}  // namespace
}  // namespace dbench::arena
