#pragma once
// The steps of one tree, worked out once per call and followed for every tile of columns.

#include <cstdint>
#include <span>
#include <vector>

#include "arena/tree.hpp"

namespace dbench::arena {

/// An operand of a step: one of the given leaves, or the result of an earlier step.
struct Operand {
    bool leaf;
    int index;  ///< of the leaf, or of the scratch slot
};

/// slot = left (+) right. Where the operands stand for a and b replicas:
struct TreeStep {
    Operand left, right;
    int slot;
    double share;   ///< b / (a + b): the right one's part of a mean
    double weight;  ///< a b / (a + b): what the squared difference counts in a second moment
};

struct TreePlan {
    std::vector<TreeStep> steps;  ///< the last one gives the root; none where the root is a leaf
    int slots = 0;                ///< at most the depth of the tree
};

/// The same steps by their distance from the leaves: those of one level need none of each other.
struct TreeLevels {
    std::vector<TreeStep> steps;  ///< level after level; the last one gives the root
    std::vector<int64_t> first;   ///< of each level's steps; and the end
    int slots = 0;                ///< at most half of the leaves, rounded up
};
TreeLevels by_level(const TreePlan& plan);

/// The steps that add `leaves`, in their order, along the tree below the node `root`. A slot may be
/// operand and result of one step. Throws std::logic_error where the leaves are not nodes of the
/// tree that tile the root.
TreePlan plan_tree(std::span<const Interval> leaves, Interval root);

}  // namespace dbench::arena
