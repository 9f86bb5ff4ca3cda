#pragma once
// Algorithms that diverge on a graph at any learning rate: told by `check` and `graph`, refused
// with what would do.

#include <optional>
#include <string>

#include "base/json.hpp"
#include "conform/stability.hpp"
#include "graphs/schedule.hpp"
#include "program/spec.hpp"

namespace dbench::bench {

/// Growth of a resolved algorithm on a graph; of one that takes no graph nothing grows. Throws
/// UserError where it takes none.
conform::Growth growth_on(const base::Json& algorithm, const graphs::Schedule& graph);

/// The keys of docs/graphs.md ("stability"); a line as those of a certificate.
base::Json stability_json(const base::Json& algorithm, const conform::Growth& growth);
std::string stability_text(const base::Json& algorithm, const conform::Growth& growth);

/// The growth of the spec's algorithm on its graph, made in `context`. Throws UserError where it is
/// unstable, naming the nearest `lazy` and the nearest momentum that are stable; warns where the
/// spec allows it.
conform::Growth check_stability(const Spec& spec, const graphs::Schedule& graph,
                                const graphs::GraphContext& context);

}  // namespace dbench::bench
