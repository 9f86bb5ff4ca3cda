#pragma once
// Records which mixing matrices a run used: the rows of /graphs. Internal to this module.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "graphs/schedule.hpp"
#include "profile/run_file.hpp"

namespace dbench::profile {

/// Assigns a row of /graphs to each matrix when it is first used.
class GraphLog {
public:
    /// `schedule` is null if there is nothing to log. `certificate` is JSON; its `rho` belongs to
    /// the matrix `certified`. `limit` bounds the number of kept matrices among those that do not
    /// repeat.
    GraphLog(const graphs::Schedule* schedule, const std::string& certificate, uint64_t certified,
             int64_t limit);

    /// Returns the matrix's row of /graphs, written at its first use; -1 if it is not kept.
    int64_t row(graphs::Round round, RunFile& file);
    /// Returns rho of every row; NaN if it cannot be computed, or not within `seconds`.
    std::vector<double> rho(double seconds) const;

private:
    void write(graphs::Round round, RunFile& file);

    const graphs::Schedule* schedule_;
    double certified_rho_;  ///< NaN if not known.
    uint64_t certified_;
    int64_t limit_, nonrepeating_ = 0, edges_ = 0;
    std::unordered_map<uint64_t, int64_t> rows_;
    std::vector<graphs::Round> rounds_;
};

}  // namespace dbench::profile
