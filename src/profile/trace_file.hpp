#pragma once
// The trace of one rank, a file next to the result file. docs/output-format.md describes it.
//
// base/trace.hpp collects what the threads do. TraceFile says which iterations are traced, and
// writes their events when the iteration ends: a killed run loses the iteration in flight.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/trace.hpp"

namespace dbench::profile {

/// The iterations [begin, end) that are traced.
struct TracedIterations {
    int64_t begin, end;
};

/// Returns the path of a rank's trace: OUTPUT without ".h5", and ".trace-RANK.json".
std::string trace_path(const std::string& output, int rank);
/// Removes the traces of an earlier run that wrote to `output`.
void remove_traces(const std::string& output);
/// Removes the iterations from `first` on from the traces of ranks `ranks` and above: a resumed run
/// repeats these iterations, and such ranks no longer exist or write no trace.
void trim_traces(const std::string& output, int ranks, int64_t first);

/// Writes the trace of this process, rank `rank`. Only the main thread calls it.
class TraceFile {
public:
    struct Options {
        std::string output;  ///< Path of the result file.
        int rank;
        std::string host;
        TracedIterations iterations;
        base::RunClock clock;
        int64_t first;  ///< First iteration of this start. If not 0, earlier ones are kept.
    };

    /// Creates the file. Throws RunError if it cannot be written.
    explicit TraceFile(const Options& options);
    ~TraceFile();

    /// Begins to trace iteration t if it is to be traced.
    void begin(int64_t t);
    /// Writes the events of iteration t, and of those before that have ended since.
    void end(int64_t t);

private:
    void write();

    const TracedIterations iterations_;
    const int rank_;
    const base::RunClock clock_;
    const int64_t first_;
    std::optional<base::NewFile> file_;  // Empty after a failed write.
};

}  // namespace dbench::profile
