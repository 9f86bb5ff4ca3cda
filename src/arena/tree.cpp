#include "arena/tree.hpp"

#include <algorithm>
#include <stdexcept>

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

    /// Plans `node`. The result is stored in `slot` unless it is a leaf. `slot` and all later slots
    /// must be free.
    Operand add(Interval node, int slot) {
        if (next < leaves.size() && leaves[next] == node) {
            return {true, static_cast<int>(next++)};
        }
        if (node.end - node.begin < 2) {
            throw std::logic_error("the summands do not tile a node of the tree");
        }
        const int64_t middle = tree_split(node);
        const Operand left = add({node.begin, middle}, slot);
        const Operand right = add({middle, node.end}, left.leaf ? slot : slot + 1);
        const auto a = static_cast<double>(middle - node.begin);
        const auto b = static_cast<double>(node.end - middle);
        plan.steps.push_back({left, right, slot, b / (a + b), a * b / (a + b)});
        plan.slots = std::max(plan.slots, slot + 1);
        return {false, slot};
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

TreeLevels by_level(const TreePlan& plan) {
    struct Result {
        int level, slot;
    };
    std::vector<Result> results(static_cast<size_t>(plan.slots));  // Level and new slot of the
                                                                   // result that each slot of
                                                                   // `plan` holds now.
    std::vector<std::vector<TreeStep>> levels;
    TreeLevels all;
    for (TreeStep step : plan.steps) {
        // The result replaces one of the operands, because no other step reads that operand.
        Result result{0, -1};
        for (Operand* const from : {&step.left, &step.right}) {
            if (from->leaf) continue;
            const Result& operand = results[static_cast<size_t>(from->index)];
            from->index = operand.slot;
            result.level = std::max(result.level, operand.level + 1);
            if (result.slot < 0) result.slot = operand.slot;
        }
        if (result.slot < 0) result.slot = all.slots++;
        results[static_cast<size_t>(step.slot)] = result;
        step.slot = result.slot;
        levels.resize(std::max(levels.size(), static_cast<size_t>(result.level) + 1));
        levels[static_cast<size_t>(result.level)].push_back(step);
    }
    all.first.push_back(0);
    for (const std::vector<TreeStep>& level : levels) {
        all.steps.insert(all.steps.end(), level.begin(), level.end());
        all.first.push_back(std::ssize(all.steps));
    }
    return all;
}

}  // namespace dbench::arena
