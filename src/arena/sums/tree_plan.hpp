#pragma once
// The steps of a tree reduction. A plan is made once per call and used for every tile of columns.

#include <cstdint>
#include <span>
#include <vector>

#include "arena/tree.hpp"

namespace dbench::arena {

/// An operand of a step: one of the given leaves, or the result of an earlier step.
struct Operand {
    bool leaf;
    int index;  ///< Index of the leaf, or of the scratch slot.
};

/// A step: slot = left (+) right, with operands that stand for a and b replicas.
struct TreeStep {
    Operand left, right;
    int slot;
    double share;   ///< b / (a + b): the weight of the right operand in a mean.
    double weight;  ///< a b / (a + b): the weight of the squared difference in a second moment.
};

/// The steps of a tree in depth-first order.
struct TreePlan {
    std::vector<TreeStep> steps;  ///< The last step computes the root; empty if the root is a leaf.
    int slots = 0;                ///< At most the depth of the tree.
};

/// The steps of a tree sorted by level, their distance from the leaves. Steps of one level are
/// independent.
struct TreeLevels {
    std::vector<TreeStep> steps;  ///< Level after level; the last step computes the root.
    std::vector<int64_t> first;   ///< Index of each level's first step, and the end.
    int slots = 0;                ///< At most half the number of leaves, rounded up.
};
/// Sorts the steps of a plan by level and assigns new slots.
TreeLevels by_level(const TreePlan& plan);

/// Returns the steps that combine `leaves`, in their order, along the tree below the node `root`. A
/// slot may be operand and result of the same step. Throws std::logic_error if the leaves are not
/// nodes of the tree that tile the root.
TreePlan plan_tree(std::span<const Interval> leaves, Interval root);

}  // namespace dbench::arena
