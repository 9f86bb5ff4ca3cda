#include "algorithms/entries.hpp"

#include "graphs/schedules/selection.hpp"

namespace dbench::algorithms {

base::Parameter period_parameter(const char* standard) {
    return base::Parameter::integer(
               "period", standard,
               "H: replicas exchange after every H iterations, (t + 1) mod H = 0")
        .at_least(1);
}

std::unique_ptr<graphs::Schedule> after_local_steps(const PeriodSpec& spec,
                                                    std::shared_ptr<const graphs::Schedule> graph,
                                                    const graphs::RunFacts&) {
    const int n = graph->size();
    return graphs::periodic_schedule(std::move(graph), graphs::no_exchange_schedule(n),
                                     spec.period);
}

base::Parameter consensus_step_parameter(const char* standard) {
    return base::Parameter::number("gamma", standard,
                                   "consensus step size: how far x moves towards the neighbours")
        .greater_than(0)
        .at_most(1);
}

// With 1 the moment would never change, and bias correction would divide by 0.
base::Parameter moment_parameter(const char* name, const char* standard, const char* help) {
    return base::Parameter::number(name, standard, help).at_least(0).at_most(1 - 1e-12);
}

}  // namespace dbench::algorithms
