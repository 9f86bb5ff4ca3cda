#pragma once
// Inspects a result file that another process wrote or is writing, for `dbench doctor FILE`.

#include <cstdint>
#include <string>

namespace dbench::profile {

/// The state of a file's writer.
enum class Writer : uint8_t {
    none,     ///< The file was closed properly.
    alive,    ///< A process has the file open for writing.
    dead,     ///< The writer ended without closing the file.
    unknown,  ///< The writer may be on another host, whose locks are not visible here.
};

/// The contents of a result file's head. Texts are empty and numbers 0 if the file lacks them.
struct Inspection {
    std::string path;
    Writer writer = Writer::none;
    bool flagged = false;   ///< Marked as being written: an ordinary open fails.
    bool readable = false;  ///< The members below were read; if not, `problem` says why.
    std::string problem;
    std::string name, status, error, started, finished, host;
    std::string device;      ///< The device of rank 0.
    std::string spec;        ///< Resolved spec, JSON.
    std::string provenance;  ///< JSON; "" if it cannot be read.
    int64_t replicas = 0, ranks = 0;
    int64_t iterations = 0, planned = 0;  ///< Recorded, and of the whole run.
    int64_t profiled = 0, evaluations = 0, events = 0;
    int64_t bytes = 0;
    double seconds_since_write = 0;  ///< Seconds since the file was last written.
};

/// Reads a file without changing it or disturbing its writer. Throws UserError if `path` is not an
/// HDF5 file, or has another schema.
Inspection inspect(const std::string& path);

/// Formats an inspection as a few lines for a terminal.
std::string to_text(const Inspection& inspection);

/// Clears the mark of a dead writer, so that any program can open the file; its status remains
/// `running`. Returns true if there was a mark. Throws UserError if the writer is alive (or may
/// be), or if the file cannot be changed.
bool clear_write_mark(const std::string& path);

/// Returns for example "1.10.8, serial".
std::string hdf5_version();

}  // namespace dbench::profile
