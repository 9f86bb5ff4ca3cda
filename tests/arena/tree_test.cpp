#include "arena/tree.hpp"

#include <bit>
#include <stdexcept>

#include "arena/random_rows.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

TEST_CASE("the tree splits at a + ceil((b - a) / 2)") {
    CHECK(tree_split({0, 2}) == 1);
    CHECK(tree_split({0, 3}) == 2);
    CHECK(tree_split({3, 8}) == 6);
}

TEST_CASE("maximal subtrees of known parts") {
    using List = std::vector<Interval>;
    CHECK(maximal_subtrees(8, {0, 8}) == List{{0, 8}});
    CHECK(maximal_subtrees(8, {2, 7}) == List{{2, 4}, {4, 6}, {6, 7}});
    CHECK(maximal_subtrees(7, {0, 5}) == List{{0, 4}, {4, 5}});
    CHECK(maximal_subtrees(7, {3, 7}) == List{{3, 4}, {4, 7}});
    CHECK(maximal_subtrees(1, {0, 1}) == List{{0, 1}});
    CHECK(maximal_subtrees(5, {2, 2}).empty());
}

TEST_CASE("maximal subtrees tile their part, and their number is at most 2 log2 n") {
    const int64_t n = GENERATE(1, 2, 3, 5, 8, 13, 16, 31, 100);
    bool tiles = true, few = true;
    for (int64_t begin = 0; begin < n; ++begin) {
        for (int64_t end = begin + 1; end <= n; ++end) {
            const std::vector<Interval> nodes = maximal_subtrees(n, {begin, end});
            int64_t at = begin;
            for (const Interval node : nodes) {
                tiles &= node.begin == at;
                at = node.end;
            }
            tiles &= at == end;
            const auto log2 = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(n - 1)));
            few &= nodes.size() <= std::max<size_t>(1, 2 * log2);
        }
    }
    CHECK(tiles);
    CHECK(few);
}

enum class Reduction { sum, mean };

/// The definition, computed in the element type along the tree.
template <class T>
T definition(Reduction what, const Rows& x, Interval node, int64_t column) {
    if (node.end - node.begin == 1) return x.row<T>(node.begin)[column];
    const int64_t middle = tree_split(node);
    const T left = definition<T>(what, x, {node.begin, middle}, column);
    const T right = definition<T>(what, x, {middle, node.end}, column);
    if (what == Reduction::sum) return left + right;
    const double share =
        static_cast<double>(node.end - middle) / static_cast<double>(node.end - node.begin);
    return left + static_cast<T>(share) * (right - left);
}

void reduce(Reduction what, DType type, int64_t n, std::span<const Summand> summands, void* out,
            Columns columns) {
    if (what == Reduction::sum) {
        tree_sum(type, n, summands, out, columns);
    } else {
        tree_mean(type, n, summands, out, columns);
    }
}

std::vector<Summand> leaves_of(const Rows& x) {
    std::vector<Summand> leaves;
    for (int64_t i = 0; i < x.count; ++i) leaves.push_back({{i, i + 1}, x.at(i, 0)});
    return leaves;
}

TEST_CASE("sums and means follow the order of the tree") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const int64_t n = GENERATE(1, 2, 3, 6, 8, 13);
    const Reduction what = GENERATE(Reduction::sum, Reduction::mean);
    const Buffer x = random_rows(layout, type, n, 1);
    const Buffer out(type, 0, 1, layout.columns());
    reduce(what, type, n, leaves_of(x.rows()), out.rows().data, layout.all());
    bool same = true;
    with_type(type, [&]<class T>() {
        for (int64_t c = 0; c < layout.columns(); ++c) {
            same &= out.rows().row<T>(0)[c] == definition<T>(what, x.rows(), {0, n}, c);
        }
    });
    CHECK(same);
    CHECK(padding_is_zero(layout, out.rows()));
}

TEST_CASE("sums and means have the same bits for any split of the replicas over ranks") {
    const Layout layout = ragged_layout();
    const Reduction what = GENERATE(Reduction::sum, Reduction::mean);
    const int64_t n = GENERATE(2, 5, 8, 11);
    const Buffer x = random_rows(layout, DType::float32, n, 2);
    const Buffer whole(DType::float32, 0, 1, layout.columns());
    reduce(what, DType::float32, n, leaves_of(x.rows()), whole.rows().data, layout.all());
    for (int64_t ranks = 2; ranks <= n; ++ranks) {
        const Buffer partial(DType::float32, 0, n, layout.columns());
        std::vector<Summand> partials;
        for (int64_t rank = 0; rank < ranks; ++rank) {
            const Interval part{rank * n / ranks, (rank + 1) * n / ranks};
            for (const Interval node : maximal_subtrees(n, part)) {
                const std::vector<Summand> all = leaves_of(x.rows());
                const std::vector<Summand> some(all.begin() + node.begin, all.begin() + node.end);
                void* to = partial.rows().at(static_cast<int64_t>(partials.size()), 0);
                reduce(what, DType::float32, n, some, to, layout.all());
                partials.push_back({node, to});
            }
        }
        const Buffer sum(DType::float32, 0, 1, layout.columns());
        for (const Columns range : cut_up(layout)) {
            reduce(what, DType::float32, n, partials, sum.rows().data, range);
        }
        CHECK(same_bits(sum.rows(), whole.rows()));
    }
}

TEST_CASE("the result may replace any of its summands") {
    const Layout layout = ragged_layout();
    const Reduction what = GENERATE(Reduction::sum, Reduction::mean);
    const int64_t target = GENERATE(0, 2, 4);
    const Buffer x = random_rows(layout, DType::float32, 5, 3);
    const Buffer whole(DType::float32, 0, 1, layout.columns());
    reduce(what, DType::float32, 5, leaves_of(x.rows()), whole.rows().data, layout.all());
    void* to = x.rows().at(target, 0);
    reduce(what, DType::float32, 5, leaves_of(x.rows()), to, layout.all());
    CHECK(same_bits(x.rows().only(target), whole.rows()));
}

TEST_CASE("the mean of any number of equal rows equals them") {
    const Layout layout = ragged_layout();
    const DType type = GENERATE(DType::float32, DType::float64);
    const Buffer one = random_rows(layout, type, 1, 4);
    const Buffer out(type, 0, 1, layout.columns());
    for (int64_t n = 1; n <= 70; ++n) {
        std::vector<Summand> leaves;
        for (int64_t i = 0; i < n; ++i) leaves.push_back({{i, i + 1}, one.rows().at(0, 0)});
        tree_mean(type, n, leaves, out.rows().data, layout.all());
        CHECK(same_bits(out.rows(), one.rows()));
    }
}

TEST_CASE("summands that do not tile a node are refused") {
    const Buffer x(DType::float32, 0, 3, 16), out(DType::float32, 0, 1, 16);
    const std::vector<Summand> gap = {{{0, 1}, x.rows().at(0, 0)}, {{2, 4}, x.rows().at(1, 0)}};
    CHECK_THROWS_AS(tree_sum(DType::float32, 4, gap, out.rows().data, {0, 16}), std::logic_error);
}

}  // namespace
}  // namespace dbench::arena
