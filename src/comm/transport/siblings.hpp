#pragma once  // Private to comm/transport.
// The other ranks of this job on this host, as the operating system shows them, for the case that
// MPI itself does not answer.

#include <filesystem>
#include <string>
#include <vector>

namespace dbench::comm {

/// A process of the job.
struct Sibling {
    int rank = 0, process = 0;
    char state = '?';  ///< As in /proc/PID/stat: T stopped, Z dead, D waiting for a device, ...
    /// The stage that the process reports in the name of its watch's thread (see stage_thread); may
    /// be empty.
    std::string stage;
};

/// Returns the processes of this job on this host, this one included, in rank order. Empty if the
/// system does not show them or the process is alone. `proc` has the layout of Linux's proc(5).
std::vector<Sibling> siblings(const std::filesystem::path& proc = "/proc");

/// Returns the name by which a thread reports its process's stage. Keeps at most five characters of
/// `stage`.
std::string stage_thread(const std::string& stage);

/// Returns the number of ranks that the launcher started on this host; 0 if it does not report it.
int local_rank_count();

}  // namespace dbench::comm
