#include "arena/tree.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "arena/sums/tree_plan.hpp"

namespace dbench::arena {
namespace {

void collect(Interval node, Interval part, std::vector<Interval>& found) {
    if (node.begin >= part.end || node.end <= part.begin) return;
    if (node.begin >= part.begin && node.end <= part.end) {
        found.push_back(node);
        return;
    }
    const int64_t middle = tree_split(node);
    collect({node.begin, middle}, part, found);
    collect({middle, node.end}, part, found);
}

/// Builds the plan of a tree sum recursively; consumes `leaves` from left to right.
struct Planner {
    std::span<const Interval> leaves;
    size_t next = 0;
    TreePlan plan;

    /// Plans `node`. The result is stored in `scratch_row` unless it is a leaf. This and
    /// all later scratch rows must be free.
    Operand add(Interval node, int scratch_row) {
        if (next < leaves.size() && leaves[next] == node) {
            return {true, static_cast<int>(next++)};
        }
        if (node.end - node.begin < 2) {
            throw std::logic_error("the summands do not tile a node of the tree");
        }
        const int64_t middle = tree_split(node);
        const Operand left = add({node.begin, middle}, scratch_row);
        const Operand right = add({middle, node.end}, left.leaf ? scratch_row : scratch_row + 1);
        const auto a = static_cast<double>(middle - node.begin);
        const auto b = static_cast<double>(node.end - middle);
        plan.steps.push_back({left, right, scratch_row, b / (a + b), a * b / (a + b)});
        plan.scratch_rows = std::max(plan.scratch_rows, scratch_row + 1);
        return {false, scratch_row};
    }
};

}  // namespace

std::vector<Interval> maximal_subtrees(int64_t n, Interval part) {
    std::vector<Interval> found;
    if (n > 0) collect({0, n}, part, found);
    return found;
}

TreePlan plan_tree(std::span<const Interval> leaves, Interval root) {
    Planner planner{leaves, 0, {}};
    planner.add(root, 0);
    if (planner.next != leaves.size()) {
        throw std::logic_error("the summands do not tile a node of the tree");
    }
    return std::move(planner.plan);
}

namespace {

/// The place of a step in TreeGroups: groups of a lower round are performed earlier.
struct GroupOfStep {
    int level = 0, round = 0;
    int64_t group = 0;
    int64_t left = -1, right = -1;  // The steps that compute the operands; -1 for leaves.
    bool parent_is_later = false;   // True if a group of a later round uses the result.
};

/// Finds the group of each step. Groups of a round are numbered from the right.
std::vector<GroupOfStep> find_groups(const TreePlan& plan) {
    const size_t count = plan.steps.size();
    std::vector<GroupOfStep> found(count);
    std::vector<int64_t> parents(count, -1);
    // Per scratch row: the step whose result it holds now.
    std::vector<size_t> writers(static_cast<size_t>(plan.scratch_rows));
    for (size_t k = 0; k < count; ++k) {
        const TreeStep& step = plan.steps[k];
        const auto find = [&](const Operand& from, int64_t& child) {
            if (from.leaf) return;
            const size_t writer = writers[static_cast<size_t>(from.index)];
            child = static_cast<int64_t>(writer);
            parents[writer] = static_cast<int64_t>(k);
            found[k].level = std::max(found[k].level, found[writer].level + 1);
        };
        find(step.left, found[k].left);
        find(step.right, found[k].right);
        found[k].round = found[k].level / TreeGroups::kGroupLevels;
        writers[static_cast<size_t>(step.scratch_row)] = k;
    }
    int64_t groups = 0;
    for (size_t k = count; k-- > 0;) {
        const int64_t parent = parents[k];
        const bool joins =
            parent >= 0 && found[static_cast<size_t>(parent)].round == found[k].round;
        found[k].group = joins ? found[static_cast<size_t>(parent)].group : groups++;
        found[k].parent_is_later = parent >= 0 && !joins;
    }
    return found;
}

/// Assigns places to results that a later batch uses. A place becomes free after the batch that
/// uses its result.
class KeptPlaces {
public:
    int32_t take() {
        if (free_.empty()) return count_++;
        const int32_t place = free_.back();
        free_.pop_back();
        return place;
    }
    void release(int32_t place) { released_.push_back(place); }
    void end_batch() {
        free_.insert(free_.end(), released_.begin(), released_.end());
        released_.clear();
    }
    int32_t count() const { return count_; }

private:
    std::vector<int32_t> free_, released_;
    int32_t count_ = 0;
};

}  // namespace

TreeGroups in_groups(const TreePlan& plan, int64_t at_once) {
    // Leaves have places from here on until the number of kept results is known.
    constexpr int32_t kLeaves = 1 << 30;
    const std::vector<GroupOfStep> found = find_groups(plan);
    std::vector<size_t> order(plan.steps.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        const auto rank = [&](size_t k) { return std::pair(found[k].round, -found[k].group); };
        return rank(a) < rank(b);
    });
    TreeGroups all;
    KeptPlaces kept;
    std::vector<int32_t> position(order.size());  // In all.steps, of each step of the plan.
    for (size_t k = 0; k < order.size(); ++k) {
        const GroupOfStep& here = found[order[k]];
        if (k == 0 || found[order[k - 1]].group != here.group) {
            const auto group = std::ssize(all.first), step = std::ssize(all.steps),
                       leaf = std::ssize(all.leaves);
            if (k == 0 || found[order[k - 1]].round != here.round ||
                group - all.batches.back().first_group == at_once) {
                kept.end_batch();
                all.batches.push_back({group, group, step, step, leaf, leaf});
            }
            all.first.push_back(step);
            ++all.batches.back().end_group;
        }
        TreeBatch& batch = all.batches.back();
        const TreeStep& step = plan.steps[order[k]];
        const auto place = [&](const Operand& from, int64_t child, int32_t& origin) {
            if (from.leaf) {
                all.leaves.push_back(from.index);
                origin = static_cast<int32_t>(-std::ssize(all.leaves));
                return static_cast<int32_t>(kLeaves + all.leaves.size() - 1 -
                                            static_cast<size_t>(batch.first_leaf));
            }
            origin = position[static_cast<size_t>(child)];
            const int32_t at = all.steps[static_cast<size_t>(origin)].out;
            if (at < kLeaves && origin < batch.first_step) kept.release(at);
            return at;
        };
        PlacedStep placed{0, 0, 0, 0, 0, step.share, step.weight};
        placed.left = place(step.left, here.left, placed.left_from);
        placed.right = place(step.right, here.right, placed.right_from);
        placed.out = here.parent_is_later ? kept.take() : placed.left;
        position[order[k]] = static_cast<int32_t>(all.steps.size());
        all.steps.push_back(placed);
        batch.end_step = std::ssize(all.steps);
        batch.end_leaf = std::ssize(all.leaves);
    }
    all.first.push_back(std::ssize(all.steps));
    if (plan.steps.empty()) all.leaves.push_back(0);
    all.kept = all.places = kept.count();
    for (const TreeBatch& batch : all.batches) {
        all.places = std::max(all.places, all.kept + batch.end_leaf - batch.first_leaf);
    }
    for (PlacedStep& step : all.steps) {
        for (int32_t* const place : {&step.left, &step.right, &step.out}) {
            if (*place >= kLeaves) *place += kept.count() - kLeaves;
        }
    }
    return all;
}

}  // namespace dbench::arena
