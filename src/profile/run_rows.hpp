#pragma once
// From measurements of single ranks to the rows of the file. Internal to this room.

#include <string>
#include <vector>

#include "comm/placement.hpp"
#include "profile/graph_log.hpp"
#include "profile/run_file.hpp"
#include "train/observer.hpp"

namespace dbench::profile {

/// Appends one row per record to the tables. `records`: rank 0's, in order; `packed`: per rank, the
/// same iterations. Throws RunError where they do not fit together.
void append_rows(RunFile& file, GraphLog& graphs, const comm::Placement& placement, int64_t tensors,
                 const std::vector<train::IterationRecord>& records,
                 const std::vector<std::string>& packed);

/// The evaluation's row; scores that are missing are NaN.
void append_evaluation(RunFile& file, int64_t evaluated, const train::EvaluationRecord& record);

}  // namespace dbench::profile
