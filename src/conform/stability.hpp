#pragma once
// Stability of an algorithm on a graph: the growth of disagreement between replicas under the
// algorithm's linear recursion (its dense reference with gradients 0). The learning rate does not
// affect it.

#include <optional>
#include <string>

#include "base/json.hpp"
#include "graphs/schedule.hpp"

namespace dbench::conform {

/// The growth of an algorithm's linear recursion on a graph.
struct Growth {
    /// Long-run factor by which the replicas' deviations from their mean grow per iteration (per
    /// exchange for algorithms with local steps). Empty if it was not computed.
    std::optional<double> disagreement;
    double mean = 1;  ///< Growth factor of the mean itself; 1 for every sound algorithm.
    bool per_exchange = false;
    std::string by;        ///< How it was computed, or the reason why it was not.
    std::string graph;     ///< The graph to which the values belong, if there are several.
    double tolerance = 0;  ///< Tolerance of the method used.

    /// Returns true if stable; empty if unknown.
    std::optional<bool> stable() const;
};

/// Computes the growth of a resolved `algorithm`; for a schedule of several graphs, the largest
/// growth. Uses W's eigenvalues if all rounds share their eigenvectors, or if W is static and
/// symmetric; otherwise the eigenvalues of the product over one period for up to hundreds of
/// replicas; otherwise a sample of up to thousands of consecutive rounds, fewer if there are many
/// replicas. Takes seconds at most.
Growth growth(const base::Json& algorithm, const graphs::Schedule& graph);

/// Return the keys of `dbench graph --algorithm NAME --json` (docs/graphs.md), and lines for a
/// terminal.
base::Json to_json(const Growth& growth);
std::string to_text(const Growth& growth);

}  // namespace dbench::conform
