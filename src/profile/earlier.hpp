#pragma once
// A run that goes on: what its result file holds of the iterations before. The file is written
// anew, with these rows first, and takes the old one's place when it is readable. Internal to this
// room.

#include <functional>
#include <string>
#include <vector>

#include "profile/column.hpp"
#include "profile/h5.hpp"

namespace dbench::profile {

/// The earlier file opens, but rows of it cannot be read, or are not what was written.
class DamagedRows : public h5::Error {
public:
    using h5::Error::Error;
};

struct Earlier {
    struct Segment {
        std::string started, host, job, reason;
        int64_t ranks = 0, first_iteration = 0;
    };
    std::string path, started;
    int64_t first = 0;  ///< iterations that are kept; the run goes on with this one
    int64_t ranks = 0;  ///< most ranks so far
    int64_t replicas = 0;
    int64_t profiled = 0, variance = 0, evaluations = 0, events = 0, segments = 0;  ///< rows kept
    Segment last;
    std::vector<int32_t> rounds;  ///< averagings, of the iterations kept
};

/// Throws UserError where the file cannot be read, or does not reach iteration `first`.
Earlier read_earlier(const std::string& path, int64_t first);

h5::File open_earlier(const std::string& path);

/// Adds the first `rows` rows of GROUP/column to the column; where its rows have become longer
/// (more ranks), the rest is not known. `some` is called from time to time. Throws DamagedRows.
void copy_rows(const h5::File& from, const std::string& group, int64_t rows, Column& column,
               const std::function<void()>& some);

}  // namespace dbench::profile
