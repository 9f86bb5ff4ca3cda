#pragma once
// What the rows of the algorithm table share.

#include "algorithms/algorithm.hpp"

namespace dbench::algorithms {

/// dsgd in the order adapt_then_combine, over whatever the schedule says; `again`: averagings may
/// be repeated.
std::unique_ptr<Algorithm> adapt_then_combine(const graphs::Schedule* schedule, bool again);

/// Rows that are no more than that over a schedule of their own.
std::unique_ptr<Algorithm> make_over_schedule(const base::Json& spec,
                                              const AlgorithmContext& context);

/// H of local steps: an exchange in iterations t with (t + 1) mod H = 0.
base::Parameter period_parameter(const char* standard);

/// gamma of compressed messages: how far the parameters go towards what was heard.
base::Parameter consensus_step_parameter(const char* standard);

/// Decay of a moment, below 1.
base::Parameter moment_parameter(const char* name, const char* standard, const char* help);

}  // namespace dbench::algorithms
