#pragma once
// Finds graphs over which replicas can never agree: parts of the graph that never exchange, and
// matrices that only carry parameters around.

#include <optional>
#include <string>

#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// The reason why replicas never agree over a graph, and a change of the graph that helps.
struct AgreementObstacle {
    std::string reason;
    std::string remedy;
};

/// Returns why the replicas never agree if they average over `graph` for as long as one likes;
/// empty if they agree, or if that is not known. All graphs of a StagedSchedule count together.
/// Examines one period, or all matrices that can be drawn, of up to 2^21 rows.
std::optional<AgreementObstacle> find_disagreement(const Schedule& graph);

/// Returns true if the links of `used`, over its first 2^16 iterations, connect all replicas. A
/// schedule that an algorithm derives from a graph (with averages inside nodes or over all
/// replicas, for example) may do so when the graph alone does not.
bool connects_all(const Schedule& used);

}  // namespace dbench::graphs
