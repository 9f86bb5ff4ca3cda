#pragma once
// Joins the measurements of single ranks into rows of the file. Internal to this module.

#include <string>
#include <vector>

#include "algorithms/step/observer.hpp"
#include "comm/placement.hpp"
#include "profile/graph_log.hpp"
#include "profile/run_file.hpp"

namespace dbench::profile {

/// Appends one row per record to the tables. `records` are rank 0's, in order; `packed` holds each
/// rank's bytes of the same iterations. Throws RunError if they do not match.
void append_rows(RunFile& file, GraphLog& graphs, const comm::Placement& placement, int64_t tensors,
                 const std::vector<algorithms::IterationRecord>& records,
                 const std::vector<std::string>& packed);

/// Appends the evaluation's row; missing scores are written as NaN.
void append_evaluation(RunFile& file, int64_t evaluated,
                       const algorithms::EvaluationRecord& record);

}  // namespace dbench::profile
