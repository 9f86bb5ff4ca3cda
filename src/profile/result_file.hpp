#pragma once
// The state of a result file that somebody else wrote or is writing: for `dbench doctor FILE`.

#include <cstdint>
#include <string>

namespace dbench::profile {

enum class Writer : uint8_t {
    none,     ///< the file was closed properly
    alive,    ///< a process has it open for writing
    dead,     ///< its writer is gone and did not close it
    unknown,  ///< it may be written from another host, whose locks are not seen here
};

/// What a result file tells of itself; texts are empty and numbers 0 where it does not.
struct Inspection {
    std::string path;
    Writer writer = Writer::none;
    bool flagged = false;   ///< marked as being written: an ordinary open fails
    bool readable = false;  ///< the rest of this was read; if not, `problem` says why
    std::string problem;
    std::string name, status, error, started, finished, host;
    std::string device;  ///< of rank 0
    std::string spec;    ///< resolved, JSON
    int64_t replicas = 0, ranks = 0;
    int64_t iterations = 0, planned = 0;  ///< recorded, of the whole run
    int64_t profiled = 0, evaluations = 0, events = 0;
    int64_t bytes = 0;
    double silent_for = 0;  ///< seconds since the file was last written
};

/// Reads; changes nothing and hinders no writer. Throws UserError where `path` is no HDF5 file, or
/// one of another schema.
Inspection inspect(const std::string& path);

/// For a terminal, a few lines.
std::string to_text(const Inspection& inspection);

/// Clears a dead writer's mark, so that any program can open the file; its status stays `running`.
/// Returns whether there was something to clear. Throws UserError if the writer is alive (or may
/// be), or the file cannot be changed.
bool clear_flag(const std::string& path);

/// "1.10.8, serial"
std::string hdf5_version();

}  // namespace dbench::profile
