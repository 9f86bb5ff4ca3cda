#pragma once
// What a run was made with: versions, build, environment, data checksums, command.

#include "program/setup.hpp"

namespace dbench::bench {

/// `carrier`: what carries rows between ranks.
base::Json provenance(comm::World& world, const RunArguments& arguments,
                      const train::Session& session, const train::Device& device,
                      const std::string& carrier, int threads);

/// Lines "name: value" about this build and its libraries, for `version` and `doctor`.
std::vector<std::pair<std::string, std::string>> build_facts();

/// Processors this process may run on.
int usable_cpus();

}  // namespace dbench::bench
