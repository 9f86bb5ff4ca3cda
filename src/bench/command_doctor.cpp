#include <sys/statvfs.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "bench/commands.hpp"
#include "bench/provenance.hpp"
#include "comm/launcher.hpp"
#include "data/dataset.hpp"
#include "profile/folder_check.hpp"
#include "profile/result_file.hpp"
#include "profile/verify.hpp"

namespace dbench::bench {
namespace {

void print(const std::string& name, const std::string& value) {
    std::printf("%s%s\n", base::column(name, 17).c_str(), value.c_str());
}

int inspect_machine() {
    for (const auto& [name, value] : build_facts()) print(name, value);
    print("launcher", comm::launched_by_mpi() ? "MPI" : "none (one process)");
    print("processors", std::to_string(usable_cpus()));
    const char* root = std::getenv("DBENCH_DATA");
    print("DBENCH_DATA", root ? root : "not set (data sets with files need it, or /data/root)");
    for (const auto& set : data::data_status(root ? root : "")) print("  " + set.name, set.detail);
    return 0;
}

int inspect_file(const std::string& path) {
    const profile::Inspection found = profile::inspect(path);
    std::fputs(profile::to_text(found).c_str(), stdout);
    bool good = found.readable;
    try {
        const profile::Verification checked = profile::verify(path);
        std::fputs(profile::to_text(checked).c_str(), stdout);
        good = good && checked.damage.empty();
    } catch (const base::UserError&) {
        if (found.readable) throw;  // else it was told above that it does not open
    }
    if (found.writer == profile::Writer::dead && profile::clear_flag(path)) {
        print("cleared", "the dead writer's mark: the file opens as usual now");
    }
    return good ? 0 : base::kExitUser;
}

}  // namespace

int command_doctor(const std::string& path) {
    if (path.empty()) return inspect_machine();
    if (std::filesystem::is_directory(path)) {
        const profile::FolderCheck check = profile::check_folder(path);
        std::fputs(profile::to_text(check).c_str(), stdout);
        return check.good() ? 0 : base::kExitUser;
    }
    return inspect_file(path);
}

int command_version() {
    for (const auto& [name, value] : build_facts()) print(name, value);
    return 0;
}

}  // namespace dbench::bench
