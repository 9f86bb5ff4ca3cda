#include "algorithms/asynchronous/asynchronous.hpp"

namespace dbench::algorithms {

using base::Parameter;

const base::Section<Pace>& Pace::section() {
    static const base::Section<Pace> keys{
        {Parameter::number("gradient_seconds", "1",
                           "mean virtual seconds of a gradient; /delays are added to it")
             .greater_than(0),
         &Pace::seconds},
        {Parameter::number("jitter", "0.1",
                           "a gradient takes between 1 - jitter and 1 + jitter times the mean, "
                           "drawn for each replica and iteration")
             .at_least(0)
             .at_most(1),
         &Pace::jitter},
    };
    return keys;
}

void Asynchronous::declare(arena::StateTable& state) {
    snapshots_ = state.scratch();
    state.value("algorithm/clock", clock_);
}

}  // namespace dbench::algorithms
