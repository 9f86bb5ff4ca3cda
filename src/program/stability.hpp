#pragma once
// Finds algorithms that diverge on a graph at any learning rate. `check` and `graph` report the
// growth; an unstable spec is refused with a remedy.

#include <optional>
#include <string>

#include "base/json.hpp"
#include "conform/stability.hpp"
#include "graphs/schedule.hpp"
#include "program/spec.hpp"

namespace dbench::program {

/// Returns the growth of a resolved algorithm on a graph. Throws UserError if the algorithm uses no
/// graph.
conform::Growth growth_on(const base::Json& algorithm, const graphs::Schedule& graph);

/// Returns the keys that docs/graphs.md describes under "stability".
base::Json stability_json(const base::Json& algorithm, const conform::Growth& growth);
/// Returns one line in the format of a certificate.
std::string stability_text(const base::Json& algorithm, const conform::Growth& growth);

/// Returns the growth of the spec's algorithm on its graph, which was made in `context`. If it is
/// unstable, throws UserError that names the nearest stable `lazy` and the nearest stable momentum;
/// only warns if the spec sets `allow_unstable`.
conform::Growth check_stability(const Spec& spec, const graphs::Schedule& graph,
                                const graphs::GraphContext& context);

}  // namespace dbench::program
