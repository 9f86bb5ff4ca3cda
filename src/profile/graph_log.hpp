#pragma once
// Records which mixing matrices a run used: the rows of /graphs. Internal to this module.

#include <cstdint>
#include <optional>
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

    /// Continues after the matrices of an earlier start, whose rows the file begins with. The
    /// schedule may be another one if the data have changed: only those matrices that it shares
    /// with the earlier start keep their rows. Called before the first `row`.
    void continue_from(const EarlierRun& earlier);
    /// Returns the matrix's row of /graphs, written at its first use; -1 if it is not kept.
    int64_t row(graphs::Round round, RunFile& file);
    /// Returns rho of every row; NaN if it cannot be computed, or not within `seconds`.
    std::vector<double> rho(double seconds) const;

private:
    /// A row of /graphs.
    struct Row {
        std::optional<graphs::Round> round;  ///< Empty: the schedule is not known to use it.
        double rho;                          ///< NaN if not known.
    };

    void write(graphs::Round round, RunFile& file);
    /// Notes that a row of an earlier start holds the matrix of `round`.
    void claim(int64_t row, graphs::Round round);
    uint64_t digest_of(graphs::Round round) const;
    double known_rho(graphs::Round round) const;

    const graphs::Schedule* schedule_;
    double certified_rho_;  ///< NaN if not known.
    uint64_t certified_;
    int64_t limit_, nonrepeating_ = 0, edges_ = 0;
    std::unordered_map<uint64_t, int64_t> row_of_;  ///< Rows by Round::matrix.
    /// Rows of an earlier start that no matrix of the schedule is known to have, by their digests.
    std::unordered_map<uint64_t, int64_t> unclaimed_;
    std::vector<Row> rows_;
};

}  // namespace dbench::profile
