#pragma once
// Helpers that several entries of the algorithm table share.

#include "algorithms/algorithm.hpp"

namespace dbench::algorithms {

/// Makes dsgd in the order adapt_then_combine over `schedule`. `again`: the schedule's controller
/// may repeat averagings.
std::unique_ptr<Algorithm> adapt_then_combine(const graphs::Schedule* schedule, bool may_repeat);

/// Makes the same, for table entries that only differ from dsgd in their schedule.
std::unique_ptr<Algorithm> make_over_schedule(const base::Json& spec,
                                              const AlgorithmContext& context);

/// The key `period`, H local steps: replicas exchange in iterations t with (t + 1) mod H = 0.
base::Parameter period_parameter(const char* standard);

/// The key `gamma` of compressed algorithms: the step size of the move towards the neighbours'
/// values.
base::Parameter consensus_step_parameter(const char* standard);

/// A key for the decay of a moment, below 1.
base::Parameter moment_parameter(const char* name, const char* standard, const char* help);

}  // namespace dbench::algorithms
