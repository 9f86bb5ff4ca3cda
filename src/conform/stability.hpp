#pragma once
// Whether an algorithm is stable on a graph at all: how disagreement between replicas grows under
// its linear recursion (its dense reference at gradients of 0), which no learning rate changes.

#include <optional>
#include <string>

#include "base/json.hpp"
#include "graphs/schedule.hpp"

namespace dbench::conform {

struct Growth {
    /// Factor per iteration (per exchange of algorithms with local steps) in the long run, of the
    /// replicas' deviations from their mean; empty where it was not computed.
    std::optional<double> disagreement;
    double mean = 1;  ///< the same of the mean itself: 1 of every algorithm that is sound
    bool per_exchange = false;
    std::string by;        ///< how it was found; or, where it was not, why
    std::string graph;     ///< the one that it is of, where there are several
    double tolerance = 0;  ///< of the way it was found

    /// Empty where that is not known.
    std::optional<bool> stable() const;
};

/// Of a resolved `algorithm`; where the schedule goes from graph to graph, the largest. By W's
/// eigenvalues where all rounds share their eigenvectors or W is static and symmetric; by the
/// eigenvalues of the product over one period for up to hundreds of replicas; else by a sample: up
/// to thousands of rounds in turn, fewer where replicas are many. Seconds at most.
Growth growth(const base::Json& algorithm, const graphs::Schedule& graph);

/// The keys of `dbench graph --algorithm NAME --json` (docs/graphs.md), and lines for a terminal.
base::Json to_json(const Growth& growth);
std::string to_text(const Growth& growth);

}  // namespace dbench::conform
