#pragma once
// What a run's file learns after its last row, when it is no longer read while being written.

#include <cstdint>
#include <string>
#include <vector>

namespace dbench::profile {

struct Ending {
    std::string status;  ///< complete, preempted or failed
    std::string error;
    std::vector<double> rho;  ///< of all matrices of /graphs; empty: as they are
};

/// Opens the closed file once more and sets status, finished, error, the segment's end and rho, all
/// of them in their place: the file does not grow. Throws h5::Error.
void write_ending(const std::string& path, const Ending& ending, int64_t segment,
                  int64_t last_iteration);

}  // namespace dbench::profile
