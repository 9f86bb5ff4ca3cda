#pragma once
// Helpers that several entries of the algorithm table share.

#include "algorithms/algorithm.hpp"

namespace dbench::algorithms {

/// Makes dsgd in the order adapt_then_combine over `schedule`. `may_repeat`: the schedule's
/// controller may repeat averagings.
std::unique_ptr<Algorithm> adapt_then_combine(const graphs::Schedule* schedule, bool may_repeat);

/// Makes the same, for table entries that only differ from dsgd in their schedule.
template <class S>
std::unique_ptr<Algorithm> make_over_schedule(const S&, const AlgorithmContext& context) {
    return adapt_then_combine(context.schedule, false);
}

/// The key of algorithms that exchange after H local steps, in iterations t with (t + 1) mod H = 0.
struct PeriodSpec {
    int64_t period;
};

/// The key `period`. Each algorithm has its own default.
base::Parameter period_parameter(const char* standard);

/// Makes the schedule with `graph` after every H-th iteration and no exchange in between.
std::unique_ptr<graphs::Schedule> after_local_steps(const PeriodSpec& spec,
                                                    std::shared_ptr<const graphs::Schedule> graph,
                                                    const graphs::RunFacts& run);

/// The key `gamma` of compressed algorithms: the step size of the move towards the neighbours'
/// values.
base::Parameter consensus_step_parameter(const char* standard);

/// A key for the decay of a moment, below 1.
base::Parameter moment_parameter(const char* name, const char* standard, const char* help);

}  // namespace dbench::algorithms
