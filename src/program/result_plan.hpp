#pragma once
// Predicts what the result file of a run will contain, from its session.

#include <cstdint>

#include "profile/schema.hpp"
#include "program/prepare_run.hpp"

namespace dbench::program {

/// Returns which optional columns the result file of this session has.
profile::Features result_features(const train::Session& session);

/// Returns the bytes of all rows of the result file before compression. This excludes /graphs and
/// everything whose size does not depend on the number of iterations. `further_ranks` is a number
/// of ranks in addition to those of this run, for the size of the file on more ranks.
int64_t result_bytes(const PreparedRun& setup, int64_t further_ranks = 0);

}  // namespace dbench::program
