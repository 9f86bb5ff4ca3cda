#pragma once
// Writes the outcome of a run into its file after the last row, once readers no longer expect it to
// grow.

#include <cstdint>
#include <string>
#include <vector>

namespace dbench::profile {

/// The outcome of a run.
struct RunOutcome {
    std::string status;  ///< complete, preempted or failed
    std::string error;
    std::vector<double> rho;  ///< rho of all matrices in /graphs; empty: rho is not changed.
};

/// Reopens the closed file and sets status, finished, error, the segment's end and rho. All of them
/// are overwritten in place: the file does not grow. Throws h5::Error.
void write_outcome(const std::string& path, const RunOutcome& outcome, int64_t segment,
                   int64_t last_iteration);

}  // namespace dbench::profile
