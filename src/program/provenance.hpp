#pragma once
// The provenance of a run: versions, build, environment, checksums of the data, command line.

#include "program/prepare_run.hpp"

namespace dbench::program {

/// Returns the provenance that the result file stores.
base::Json provenance(comm::World& world, const RunArguments& arguments, const PreparedRun& run,
                      int threads);

/// Returns names and values about this build and its libraries, for `version` and `doctor`.
std::vector<std::pair<std::string, std::string>> build_facts();

/// Returns the model of the processor; "unknown" if the system does not say.
std::string cpu_model();

/// Returns the number of processors on which this process may run.
int usable_cpus();

}  // namespace dbench::program
