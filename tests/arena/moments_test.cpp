#include <cmath>

#include "arena/random_rows.hpp"
#include "arena/tree.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

struct Result {
    std::vector<double> mean, m2;
    explicit Result(const Layout& layout, size_t nodes = 1)
        : mean(nodes * static_cast<size_t>(layout.columns()), 7.0),
          m2(nodes * layout.segments().size(), 7.0) {}
    bool operator==(const Result&) const = default;
};

Result moments_of_all(const Layout& layout, const Rows& x) {
    Result result(layout);
    const Interval root{0, x.count};
    tree_moments(layout, x.count, x, {&root, 1}, layout.all(), result.mean.data(),
                 result.m2.data());
    return result;
}

TEST_CASE("moments of known numbers") {
    Layout layout;
    layout.add("a", {2}, TensorKind::weight);
    const Buffer x(DType::float32, 0, 3, layout.columns());
    const float values[3][2] = {{1, 10}, {2, 10}, {6, 13}};
    for (int64_t i = 0; i < 3; ++i) std::copy_n(values[i], 2, x.rows().row<float>(i));
    const Result result = moments_of_all(layout, x.rows());
    CHECK(result.mean[0] == Catch::Approx(3));
    CHECK(result.mean[1] == Catch::Approx(11));
    CHECK(result.mean[2] == 0);
    CHECK(result.m2[0] == Catch::Approx(4 + 1 + 9 + 1 + 1 + 4));
}

TEST_CASE("moments agree with the two-pass formula in long double") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const int64_t n = GENERATE(1, 2, 3, 7, 16);
    const double offset = GENERATE(0.0, 1e3);
    const Buffer x = random_rows(layout, type, n, 1);
    with_type(type, [&]<class T>() {
        for (int64_t i = 0; i < n; ++i) {
            for (const Tensor& tensor : layout.tensors()) {
                T* values = x.rows().row<T>(i) + tensor.offset;
                for (int64_t c = 0; c < tensor.numel; ++c) values[c] += static_cast<T>(offset);
            }
        }
    });
    const Result result = moments_of_all(layout, x.rows());
    double mean_error = 0, m2_error = 0;
    for (size_t s = 0; s < layout.segments().size(); ++s) {
        long double m2 = 0;
        for (int64_t c = layout.segments()[s].begin; c < layout.segments()[s].end; ++c) {
            long double mean = 0;
            for (int64_t i = 0; i < n; ++i) mean += element(x.rows(), i, c);
            mean /= static_cast<long double>(n);
            for (int64_t i = 0; i < n; ++i) {
                const long double d = element(x.rows(), i, c) - mean;
                m2 += d * d;
            }
            mean_error = std::max(mean_error, std::abs(result.mean[c] - static_cast<double>(mean)));
        }
        const double expected = static_cast<double>(m2);
        m2_error = std::max(m2_error, std::abs(result.m2[s] - expected) / std::max(expected, 1e-3));
    }
    CHECK(mean_error <= 1e-15 * (4 + offset));
    CHECK(m2_error <= (offset == 0 ? 1e-13 : 1e-10));
}

TEST_CASE("identical replicas have a variance of exactly zero, and their mean equals them") {
    const Layout layout = ragged_layout();
    const int64_t n = GENERATE(2, 3, 5, 7, 11, 1008);
    const Buffer one = random_rows(layout, DType::float32, 1, 2);
    const Buffer x(DType::float32, 0, n, layout.columns());
    for (int64_t i = 0; i < n; ++i) {
        std::copy_n(one.rows().row<float>(0), layout.columns(), x.rows().row<float>(i));
    }
    const Result result = moments_of_all(layout, x.rows());
    CHECK(result.m2 == std::vector<double>(layout.segments().size(), 0.0));
    bool same = true;
    for (int64_t c = 0; c < layout.columns(); ++c) {
        same &= result.mean[c] == element(one.rows(), 0, c);
    }
    CHECK(same);
}

TEST_CASE("moments have the same bits for any split of the replicas over ranks") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const int64_t n = GENERATE(1, 2, 5, 8, 11);
    const Result whole = moments_of_all(layout, random_rows(layout, type, n, 3).rows());
    const auto columns = static_cast<size_t>(layout.columns());
    const size_t segments = layout.segments().size();
    for (int64_t ranks = 1; ranks <= n; ++ranks) {
        std::vector<Result> results;
        std::vector<std::vector<Interval>> nodes;
        for (int64_t rank = 0; rank < ranks; ++rank) {
            const Interval part{rank * n / ranks, (rank + 1) * n / ranks};
            const Buffer x = random_rows(layout, type, part.end - part.begin, 3, part.begin);
            nodes.push_back(maximal_subtrees(n, part));
            Result& result = results.emplace_back(layout, nodes.back().size());
            for (const Columns range : cut_at_segments(layout)) {
                tree_moments(layout, n, x.rows(), nodes.back(), range, result.mean.data(),
                             result.m2.data());
            }
        }
        std::vector<Moments> parts;
        for (size_t rank = 0; rank < results.size(); ++rank) {
            for (size_t k = 0; k < nodes[rank].size(); ++k) {
                parts.push_back({nodes[rank][k], results[rank].mean.data() + k * columns,
                                 results[rank].m2.data() + k * segments});
            }
        }
        Result combined(layout);
        for (const Columns range : cut_at_segments(layout)) {
            combine_moments(layout, n, parts, range, combined.mean.data(), combined.m2.data());
        }
        CHECK(combined == whole);
    }
}

TEST_CASE("non-finite elements make only the moments of their segment non-finite") {
    const Layout layout = ragged_layout();
    const Buffer x = random_rows(layout, DType::float32, 4, 4);
    x.rows().row<float>(2)[0] = INFINITY;
    const Result result = moments_of_all(layout, x.rows());
    CHECK_FALSE(std::isfinite(result.m2[0]));
    for (size_t s = 1; s < result.m2.size(); ++s) CHECK(std::isfinite(result.m2[s]));
}

}  // namespace
}  // namespace dbench::arena
