#include "comm/transport/siblings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "base/input_file.hpp"

namespace dbench::comm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "dbench-at-";  // a thread's name has at most 15 characters

/// The environment variables in which a launcher tells each rank its job and its number.
struct Kind {
    std::vector<std::string> job;
    std::string rank;
};
const Kind kKinds[] = {{{"PMIX_NAMESPACE"}, "PMIX_RANK"},                    // Open MPI, srun
                       {{"SLURM_JOB_ID", "SLURM_STEP_ID"}, "SLURM_PROCID"},  // srun
                       {{"PMI_PORT"}, "PMI_RANK"},                           // MPICH and its kin
                       {{}, "PMI_RANK"}};                                    // MPICH 5

std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

using Environment = std::map<std::string, std::string>;

Environment environment(const fs::path& process) {
    Environment variables;
    std::istringstream all(content(process / "environ"));
    for (std::string one; std::getline(all, one, '\0');) {
        const size_t equals = one.find('=');
        if (equals != one.npos) variables[one.substr(0, equals)] = one.substr(equals + 1);
    }
    return variables;
}

/// Returns field `k` (from 0) after the name in /proc/PID/stat: state, parent, ...
std::string field(const fs::path& process, int k) {
    const std::string text = content(process / "stat");
    const size_t name_end = text.rfind(')');
    if (name_end == text.npos) return "";
    std::istringstream fields(text.substr(name_end + 1));
    std::string one;
    for (; k >= 0; --k) fields >> one;
    return one;
}

/// Returns the nearest ancestor process that is not a rank. MPICH 5 numbers ranks but names no job;
/// this process then identifies the job on this host.
std::string starter(const fs::path& process) {
    // Bounds the walk: processes may end meanwhile, and their numbers be reused.
    constexpr int kDeepest = 64;
    fs::path above = process;
    for (int depth = 0; depth < kDeepest; ++depth) {
        above = process.parent_path() / field(above, 1);
        if (environment(above).count("PMI_RANK") == 0) return above.filename().string();
    }
    return "";
}

/// Returns the job and the rank of a process, by the first launcher whose variables are set.
std::optional<std::pair<std::string, int>> place(const fs::path& process) {
    const Environment variables = environment(process);
    for (const Kind& kind : kKinds) {
        std::string job = kind.rank;
        bool known = variables.count(kind.rank) > 0;
        for (const std::string& name : kind.job) {
            known = known && variables.count(name) > 0;
            if (known) job += " " + variables.at(name);
        }
        if (known && kind.job.empty()) job += " under " + starter(process);
        if (known) return std::pair{job, std::atoi(variables.at(kind.rank).c_str())};
    }
    return {};
}

char state(const fs::path& process) {
    const std::string state = field(process, 0);
    return state.empty() ? '?' : state[0];
}

std::string stage(const fs::path& process) {
    std::error_code ignored;
    // The process may end meanwhile.
    for (const std::string& thread : base::names_in(process / "task", ignored)) {
        std::string name = content(process / "task" / thread / "comm");
        if (!name.starts_with(kPrefix)) continue;
        name.erase(0, std::string(kPrefix).size());
        return name.substr(0, name.find('\n'));
    }
    return "";
}

}  // namespace

std::string stage_thread(const std::string& stage) { return kPrefix + stage.substr(0, 5); }

std::vector<Sibling> siblings(const fs::path& proc) {
    const auto mine = place(proc / "self");
    std::vector<Sibling> found;
    std::error_code ignored;
    if (!mine) return found;
    for (const std::string& name : base::names_in(proc, ignored)) {
        if (name.find_first_not_of("0123456789") != name.npos) continue;
        const fs::path process = proc / name;
        const auto other = place(process);
        if (!other || other->first != mine->first) continue;
        found.push_back({other->second, std::atoi(name.c_str()), state(process), stage(process)});
    }
    std::sort(found.begin(), found.end(), [](const Sibling& a, const Sibling& b) {
        return std::pair(a.rank, a.process) < std::pair(b.rank, b.process);
    });
    return found;
}

int local_rank_count() {
    for (const char* name :
         {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"}) {
        if (const char* text = std::getenv(name)) return std::atoi(text);
    }
    return 0;
}

}  // namespace dbench::comm
