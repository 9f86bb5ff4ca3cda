#pragma once
// Resuming a run: reads the rows of earlier iterations from its result file. A new file is written
// that begins with these rows; it replaces the old one once it is readable. Internal to this
// module.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "profile/column.hpp"
#include "profile/h5.hpp"

namespace dbench::profile {

/// The earlier file can be opened, but some of its rows cannot be read, or are not what was
/// written.
class DamagedRows : public h5::Error {
public:
    using h5::Error::Error;
};

/// The parts of the earlier file that are kept.
struct EarlierRun {
    struct Segment {
        std::string started, host, job, reason;
        int64_t ranks = 0, first_iteration = 0;
    };
    /// A row of /graphs.
    struct Matrix {
        int64_t end = 0;      ///< Entries of this matrix and of those before it.
        uint64_t digest = 0;  ///< The digest of its entries (matrix_digest.hpp).
        double rho = 0;       ///< NaN if not known.
    };
    std::string path, started;
    int64_t first = 0;  ///< Iterations that are kept; the run continues with this one.
    int64_t ranks = 0;  ///< The largest number of ranks so far.
    int64_t replicas = 0;
    /// Rows that are kept.
    int64_t profiled = 0, variance = 0, evaluations = 0, events = 0, segments = 0;
    Segment last;
    std::vector<int64_t> graph;         ///< The row of /graphs of each kept iteration; -1: none.
    std::vector<Matrix> matrices;       ///< The matrices that the kept iterations used.
    std::vector<int64_t> segment_ends;  ///< /segments/last_iteration.
    /// Kinds and texts of the events of iteration first - 1. A start records such events, too, and
    /// a repeated start would record them again.
    std::vector<std::pair<std::string, std::string>> last_events;
};

/// Reads the file's summary. Throws UserError if the file cannot be read, or ends before iteration
/// `first`.
EarlierRun read_earlier_run(const std::string& path, int64_t first);

/// Opens a result file for reading, even while another process writes it. Throws h5::Error.
h5::File open_for_reading(const std::string& path);

/// Appends the first `rows` rows of GROUP/column to the column. If the column's rows have become
/// longer (more ranks), their rest is unknown (NaN). Calls `some` after each part. Throws
/// DamagedRows.
void copy_rows(const h5::File& from, const std::string& group, int64_t rows, Column& column,
               const std::function<void()>& some);

}  // namespace dbench::profile
