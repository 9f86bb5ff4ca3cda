#pragma once
// The fixed binary tree over replica indices that every sum over replicas follows
// (docs/numerics.md, rule 1): the interval [a, b) splits at a + ceil((b - a) / 2). A rank that
// holds a consecutive block of replicas contributes its maximal subtrees, so results do not depend
// on the distribution over ranks.

#include <cstdint>
#include <span>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// Replicas [begin, end).
struct Interval {
    int64_t begin, end;
    bool operator==(const Interval&) const = default;
};

/// Returns the index at which the tree splits the interval.
inline int64_t tree_split(Interval i) { return i.begin + (i.end - i.begin + 1) / 2; }

/// Returns the maximal subtrees of the tree over [0, n) inside `part`, left to right: at most 2
/// log2 n.
std::vector<Interval> maximal_subtrees(int64_t n, Interval part);

/// A summand of a tree: the sum (or mean) of the replicas in `interval`, as a row in run precision
/// (address of its column 0).
struct Summand {
    Interval interval;
    const void* row;
};

/// Computes out = tree sum of `summands` over `columns`. The summands must tile [first.begin,
/// last.end), which must be a node of the tree over n. `out` (address of column 0) may be one of
/// the summands.
void tree_sum(DType type, int64_t n, std::span<const Summand> summands, void* out, Columns columns,
              Queue& queue = host_queue());

/// Computes the mean of summands that are means over their replicas. Two nodes of a and b replicas
/// with means x and y give x + (y - x) b / (a + b). The mean of equal rows is therefore equal to
/// them bit for bit, even if the result is a summand of another tree_mean.
void tree_mean(DType type, int64_t n, std::span<const Summand> summands, void* out, Columns columns,
               Queue& queue = host_queue());

/// Count, mean and second moment of a subtree of replicas, combined along the tree (Chan, Golub,
/// LeVeque 1983). `mean` is a float64 row (address of column 0), `m2` has one number per segment
/// [S].
struct Moments {
    Interval interval;
    const double* mean;
    const double* m2;
};

/// Computes the moments of the subtrees `nodes` from rows of replicas; `rows.first` counts in [0,
/// n). Writes mean columns and m2 of the segments inside `columns`: for node k to mean + k *
/// layout.columns() and m2 + k * S.
void tree_moments(const Layout& layout, int64_t n, Rows rows, std::span<const Interval> nodes,
                  Columns columns, double* mean, double* m2, Queue& queue = host_queue());

/// Combines partial moments that tile [0, n) into those of the root, over `columns`.
void combine_moments(const Layout& layout, int64_t n, std::span<const Moments> parts,
                     Columns columns, double* mean, double* m2, Queue& queue = host_queue());

}  // namespace dbench::arena
