#pragma once
// The other ranks of this job on this host, as the system shows them: for when MPI itself does not
// answer. Internal to this room.

#include <filesystem>
#include <string>
#include <vector>

namespace dbench::comm {

struct Sibling {
    int rank = 0, process = 0;
    char state = '?';   ///< as in /proc/PID/stat: T stopped, Z dead, D waiting for a device, ...
    std::string stage;  ///< what it says of itself in the name of its watching thread; or empty
};

/// In order of rank, this one among them, one entry a process; none where the system does not tell,
/// or this process is alone. `proc` is laid out as Linux has it (proc(5)).
std::vector<Sibling> siblings(const std::filesystem::path& proc = "/proc");

/// Name under which a thread tells its process's stage; at most five characters of it are kept.
std::string stage_thread(const std::string& stage);

/// How many ranks the launcher started on this host; 0 where it does not tell.
int ranks_here();

}  // namespace dbench::comm
