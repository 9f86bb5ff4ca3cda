#include "arena/updates/update_and_mix.hpp"

#include "arena/grid/lanes.hpp"
#include "arena/sums/tree_plan.hpp"
#include "arena/sums/weighted_sums_kernel.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

/// Bytes of scratch per block, so that a multiprocessor of compute capability 9.0 can run four
/// blocks, and one of 8.0 three; and the most bytes, with which it can run two blocks.
constexpr int64_t kScratch = 52 * 1024, kMostScratch = 72 * 1024;
constexpr int64_t kWidest = 1024, kNarrowest = kLanes;
/// Minimum width if a block processes a whole segment for sums of squares: narrower tiles are too
/// slow.
constexpr int64_t kNarrowestMeasured = 128;

/// Appends the steps of the mean of `rows`; returns the row that then holds the mean.
int64_t add_blends(const std::vector<int64_t>& rows, std::vector<Blend>& blends) {
    std::vector<Interval> leaves;
    const auto members = static_cast<int64_t>(rows.size());
    for (int64_t p = 0; p < members; ++p) leaves.push_back({p, p + 1});
    const TreePlan tree = plan_tree(leaves, {0, members});
    // The row that holds each result.
    std::vector<int64_t> results(static_cast<size_t>(tree.scratch_rows));
    const auto row_of = [&](Operand operand) {
        const auto index = static_cast<size_t>(operand.index);
        return operand.leaf ? rows[index] : results[index];
    };
    int64_t last = rows.front();
    for (const TreeStep& step : tree.steps) {
        last = row_of(step.left);
        blends.push_back({last, row_of(step.right), step.share});
        results[static_cast<size_t>(step.scratch_row)] = last;
    }
    return last;
}

}  // namespace

LocalMeans::LocalMeans(std::vector<std::vector<LocalTerm>> rows,
                       const std::vector<std::vector<int64_t>>& groups) {
    std::vector<Blend> steps;
    for (const std::vector<int64_t>& group : groups) {
        const int64_t mean = add_blends(group, steps);
        for (const int64_t row : group) rows[static_cast<size_t>(row)] = {{mean, 1.0}};
    }
    std::vector<WeightedRow<float>> singles;
    std::vector<WeightedRow<double>> doubles;
    std::vector<int64_t> begins;
    for (const std::vector<LocalTerm>& row : rows) {
        DBENCH_EXPECT(!row.empty());
        double total = 0;
        for (const LocalTerm& term : row) total += term.weight;
        begins.push_back(static_cast<int64_t>(doubles.size()));
        for (const LocalTerm& term : row) {
            const double weight = &term == &row.front() ? exact_total(total) : term.weight;
            const auto number = static_cast<int32_t>(term.row);
            singles.push_back({number, static_cast<float>(weight)});
            doubles.push_back({number, weight});
        }
    }
    begins.push_back(static_cast<int64_t>(doubles.size()));
    blends = std::move(steps);
    singles_ = std::move(singles);
    doubles_ = std::move(doubles);
    first = std::move(begins);
}

int64_t mixing_width(DType type, int64_t rows, MixOrder order, bool measured) {
    const int64_t rows_kept = order == MixOrder::combine_while_adapt ? 2 * rows : rows;
    const int64_t sums = measured ? 2 * rows * static_cast<int64_t>(sizeof(Lanes)) : 0;
    const int64_t narrowest = measured ? kNarrowestMeasured : kNarrowest;
    const auto bytes = [&](int64_t width) { return rows_kept * width * size_of(type) + sums; };
    if (bytes(narrowest) > kMostScratch) return 0;
    int64_t width = kWidest;
    while (width > narrowest && bytes(width) > kScratch) width /= 2;
    return width;
}

}  // namespace dbench::arena
