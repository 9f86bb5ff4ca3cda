#pragma once
// Measures what an iteration of a spec costs on the machine of the ranks that run: the contents of
// a calibration (predict/calibration.hpp).

#include <string>
#include <vector>

#include "comm/world/world.hpp"
#include "predict/calibration.hpp"
#include "program/prepare_run.hpp"

namespace dbench::program {

/// Returns what a calibration of this run is measured with. Throws UserError if ranks share a GPU:
/// their times describe no other run.
predict::Subject subject_of(const PreparedRun& run, int threads);

/// Measures the spec of `arguments` for about `seconds`, without exchange, evaluation and
/// recording; then memory and, if there are several ranks, links. `batch` replaces the spec's batch
/// size if it is positive. Prints notices. Collective; rank 0 returns the calibration. Throws
/// UserError on all ranks.
predict::Calibration measure_costs(comm::World& world, const RunArguments& arguments,
                                   double seconds, int64_t batch = 0);

}  // namespace dbench::program
