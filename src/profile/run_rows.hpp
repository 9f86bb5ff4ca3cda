#pragma once
// From measurements of single ranks to the rows of the file. Internal to this room.

#include <string>
#include <vector>

#include "algorithms/step/observer.hpp"
#include "comm/placement.hpp"
#include "profile/graph_log.hpp"
#include "profile/run_file.hpp"

namespace dbench::profile {

/// Appends one row per record to the tables. `records`: rank 0's, in order; `packed`: per rank, the
/// same iterations. Throws RunError where they do not fit together.
void append_rows(RunFile& file, GraphLog& graphs, const comm::Placement& placement, int64_t tensors,
                 const std::vector<algorithms::IterationRecord>& records,
                 const std::vector<std::string>& packed);

/// The evaluation's row; scores that are missing are NaN.
void append_evaluation(RunFile& file, int64_t evaluated,
                       const algorithms::EvaluationRecord& record);

}  // namespace dbench::profile
