#include "profile/output_path.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/file.hpp"
#include "profile/file_guard.hpp"
#include "profile/output_check.hpp"

namespace dbench::profile {
namespace fs = std::filesystem;
namespace {

void make_folder(const std::string& path, const fs::path& folder) {
    std::error_code error;
    if (fs::is_directory(folder, error)) return;
    fs::create_directories(folder, error);
    if (error) {
        refuse_output_path(path, "folder " + folder.string() + ": " + error.message(),
                           "choose another /output or --output");
    }
}

}  // namespace

OutputPath::OutputPath(const std::string& path, bool overwrite, bool continued) : path_(path) {
    replaces_ = check_output(path, overwrite, continued);
    if (replaces_) {
        // A symbolic link is kept; its target is replaced.
        std::error_code error;
        path_ = fs::canonical(path, error).string();
        if (error) refuse_output_path(path, error.message(), "name another file");
        claim_old_file();
    }
    const fs::path folder = folder_of(path_);
    make_folder(path, folder);
    temporary_ =
        (folder / ("." + fs::path(path_).filename().string() + "." + std::to_string(getpid())))
            .string();
}

OutputPath::~OutputPath() {
    if (!published_) unlink(temporary_.c_str());
}

/// Locks the file that is to be replaced. Another run that starts at the same time is then refused
/// here, or finds the new file, which this run holds from the moment at which it appears.
void OutputPath::claim_old_file() {
    const char* const meanwhile = "another run is replacing it";
    try {
        old_ = FileGuard(path_, base::LockMode::exclusive);
    } catch (const GuardHeld&) {
        refuse_output_path(path_, meanwhile, kKeepOutput);
    } catch (const h5::Error& error) {
        refuse_output_path(path_, error.what(), kKeepOutput);
    }
    if (!old_.path_problem(path_).empty()) refuse_output_path(path_, meanwhile, kKeepOutput);
}

void OutputPath::publish() {
    const bool done = replaces_ ? std::rename(temporary_.c_str(), path_.c_str()) == 0
                                : base::rename_without_replacing(temporary_, path_);
    if (!done && errno == EEXIST)
        refuse_output_path(path_, "another run has created it meanwhile", kKeepOutput);
    if (!done)
        refuse_output_path(path_, std::strerror(errno), "choose another /output or --output");
    published_ = true;
    base::sync_folder(fs::path(temporary_).parent_path().string());
}

}  // namespace dbench::profile
