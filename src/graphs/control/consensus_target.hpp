#pragma once
// The keys that the graph and the algorithm consensus_control share.

#include <cstdint>
#include <optional>

#include "base/section.hpp"

namespace dbench::graphs {

/// The target of consensus control, and how it is measured and pursued.
struct ConsensusTargetSpec {
    std::optional<double> target;  ///< Consensus distance; empty: by `fraction`.
    double fraction;               ///< Share of the largest distance so far.
    base::Duration every;          ///< Between measurements.
    int64_t max_rounds;            ///< Most averagings in an iteration.

    static const base::Section<ConsensusTargetSpec>& section();
};

}  // namespace dbench::graphs
