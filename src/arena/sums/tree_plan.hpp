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
    int index;  ///< Index of the leaf, or of the scratch row.
};

/// A step: scratch_row = left (+) right, with operands that stand for a and b replicas.
struct TreeStep {
    Operand left, right;
    int scratch_row;
    double share;   ///< b / (a + b): the weight of the right operand in a mean.
    double weight;  ///< a b / (a + b): the weight of the squared difference in a second moment.
};

/// The steps of a tree in depth-first order.
struct TreePlan {
    std::vector<TreeStep> steps;  ///< The last step computes the root; empty if the root is a leaf.
    int scratch_rows = 0;         ///< At most the depth of the tree.
};

/// A step of TreeGroups on places in scratch memory. The result replaces the left operand, or goes
/// to another place if a later batch uses it. The right operand is used nowhere else.
struct PlacedStep {
    int32_t left, right, out;       ///< The places of the operands and of the result.
    int32_t left_from, right_from;  ///< The step that computes the operand, or -1 - the leaf.
    double share, weight;           ///< See TreeStep.
};
/// Groups of steps that a device performs concurrently: the steps [first_step, end_step) of the
/// groups [first_group, end_group), which use the leaves [first_leaf, end_leaf).
struct TreeBatch {
    int64_t first_group, end_group;
    int64_t first_step, end_step;
    int64_t first_leaf, end_leaf;
};

/// The steps of a tree in groups. A group is a part of the tree of at most kGroupLevels levels,
/// whose steps one thread performs in their order. The groups of a batch are independent of each
/// other; batches are performed one after another. The first `kept` places hold results for later
/// batches; leaf k of a batch is at place kept + k.
struct TreeGroups {
    static constexpr int kGroupLevels = 4;

    std::vector<PlacedStep> steps;  ///< Group after group; the last step computes the root.
    std::vector<int64_t> leaves;    ///< The leaves of the plan in the order of their use.
    std::vector<int64_t> first;     ///< Index of each group's first step, and the end.
    std::vector<TreeBatch> batches;
    int64_t kept = 0, places = 0;  ///< Number of places for results, and of all places.
};
/// Divides a plan into groups and these into batches of at most `at_once` groups.
TreeGroups in_groups(const TreePlan& plan, int64_t at_once);

/// Returns the steps that combine `leaves`, in their order, along the tree below the node `root`. A
/// scratch row may be operand and result of the same step. Throws std::logic_error if the leaves
/// are not nodes of the tree that tile the root.
TreePlan plan_tree(std::span<const Interval> leaves, Interval root);

}  // namespace dbench::arena
