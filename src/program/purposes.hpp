#pragma once
// The purposes of a run: the comparisons with other runs for which it can serve. Tables of
// dbench-analyze refuse to compare times for the same reasons (comparability.py of the analysis).

#include <string>
#include <vector>

#include "base/json.hpp"
#include "program/prepare_run.hpp"

namespace dbench::program {

/// Returns the names of all purposes: time, accuracy, bytes.
const std::vector<std::string>& purposes();

/// The ranks of this host.
struct LocalRanks {
    int ranks = 0;  ///< 0: unknown
    int cores = 0;  ///< that these ranks may use together; 0: unknown
};
/// Counts the ranks of this host, and on rank 0 the cores that they may use: a launcher may have
/// bound each rank to its own. Collective.
LocalRanks local_ranks(comm::World& world);

/// A reason why the run does not serve a purpose, and the change after which it does.
struct Hindrance {
    std::string reason;
    std::string key;  ///< JSON pointer of the key to change, or "ranks" for the number of ranks.
    std::string remedy;
};

/// Returns the reasons why a run on `placement` does not serve the purpose; empty if it does.
/// `local` describes this host if the run has been started as it will be.
std::vector<Hindrance> hindrances(const std::string& purpose, const PreparedRun& s,
                                  const comm::Placement& placement, const LocalRanks& local);

/// Returns "yes", or "no: " and the reasons with their remedies.
std::string purpose_text(const std::vector<Hindrance>& found);

base::Json to_json(const std::vector<Hindrance>& found);

}  // namespace dbench::program
