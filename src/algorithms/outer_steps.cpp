#include "algorithms/outer_steps.hpp"

#include <nlohmann/json.hpp>

#include "graphs/schedules/selection.hpp"

namespace dbench::algorithms {

std::unique_ptr<graphs::Schedule> after_local_steps(const base::Json& spec,
                                                    std::shared_ptr<const graphs::Schedule> graph,
                                                    const graphs::RunFacts&) {
    const int n = graph->size();
    return graphs::periodic_schedule(std::move(graph), graphs::no_exchange_schedule(n),
                                     spec.at("period"));
}

}  // namespace dbench::algorithms
