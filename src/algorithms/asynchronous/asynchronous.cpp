#include "algorithms/asynchronous/asynchronous.hpp"

#include <nlohmann/json.hpp>

namespace dbench::algorithms {

using base::Parameter;

std::vector<Parameter> pace_parameters() {
    return {Parameter::number("gradient_seconds", "1",
                              "mean virtual seconds of a gradient; /delays are added to it")
                .greater_than(0),
            Parameter::number("jitter", "0.1",
                              "a gradient takes between 1 - jitter and 1 + jitter times the mean, "
                              "drawn for each replica and iteration")
                .at_least(0)
                .at_most(1)};
}

Asynchronous::Asynchronous(const base::Json& spec, const AlgorithmContext& context)
    : schedule_(context.schedule),
      replicas_(context.replicas),
      pace_{spec.at("gradient_seconds"), spec.at("jitter")} {}

void Asynchronous::declare(arena::StateTable& state) {
    snapshots_ = state.scratch();
    state.value("algorithm/clock", clock_);
}

}  // namespace dbench::algorithms
