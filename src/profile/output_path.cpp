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
#include "profile/result_file.hpp"

namespace dbench::profile {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void refuse_output_path(const std::string& path, const std::string& why,
                                     const std::string& what) {
    throw base::UserError("the output " + path + " cannot be written (" + why + "): " + what);
}

void make_folder(const std::string& path, const fs::path& folder) {
    std::error_code error;
    if (fs::is_directory(folder, error)) return;
    fs::create_directories(folder, error);
    if (error) {
        refuse_output_path(path, "folder " + folder.string() + ": " + error.message(),
                           "choose another /output or --output");
    }
}

constexpr const char* kKeep = "it is left as it is; choose another /output or --output";

/// Inspects the existing file. Throws UserError if it is not a result file.
Inspection inspect_old_file(const std::string& path) {
    try {
        return inspect(path);
    } catch (const base::UserError&) {
        refuse_output_path(path, "the existing file is not a result file of dbench", kKeep);
    }
}

void check_replaceable(const std::string& path, bool continued) {
    const std::string keep = kKeep;
    const Inspection old = inspect_old_file(path);
    if (old.writer == Writer::alive) refuse_output_path(path, "another run is writing it", keep);
    if (old.writer == Writer::unknown) {
        refuse_output_path(
            path,
            "a run on " + (old.host.empty() ? "another host" : old.host) + " may be writing it",
            continued ? "wait until it has not been written for ten minutes, or start on that host"
                      : "wait, or remove the file by hand");
    }
    if (access(path.c_str(), W_OK) != 0) refuse_output_path(path, std::strerror(errno), keep);
}

}  // namespace

OutputPath::OutputPath(const std::string& path, bool overwrite, bool continued) : path_(path) {
    if (path.empty()) refuse_output_path("\"\"", "it has no name", "give /output or --output");
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    replaces_ = fs::exists(status);
    if (replaces_) {
        if (fs::is_directory(status))
            refuse_output_path(path, "it is a folder", "name a file in it");
        if (!fs::is_regular_file(status))
            refuse_output_path(path, "it is not an ordinary file", "name another one");
        if (!overwrite) {
            inspect_old_file(path);  // a file of another kind can be neither replaced nor continued
            refuse_output_path(path, "it exists", "give --overwrite, --resume or another --output");
        }
        check_replaceable(path, continued);
        // A symbolic link is kept; its target is replaced.
        path_ = fs::canonical(path, error).string();
        if (error) refuse_output_path(path, error.message(), "name another file");
        claim_old_file();
    } else if (fs::is_symlink(fs::symlink_status(path, error))) {
        refuse_output_path(path, "it is a link without a target", "remove the link");
    }
    const fs::path place(path_);
    const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
    if (!place.has_filename()) refuse_output_path(path, "it is a folder", "name a file in it");
    make_folder(path, folder);
    temporary_ =
        (folder / ("." + place.filename().string() + "." + std::to_string(getpid()))).string();
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
        refuse_output_path(path_, meanwhile, kKeep);
    } catch (const h5::Error& error) {
        refuse_output_path(path_, error.what(), kKeep);
    }
    if (!old_.path_problem(path_).empty()) refuse_output_path(path_, meanwhile, kKeep);
}

void OutputPath::publish() {
    const bool done = replaces_ ? std::rename(temporary_.c_str(), path_.c_str()) == 0
                                : base::rename_without_replacing(temporary_, path_);
    if (!done && errno == EEXIST)
        refuse_output_path(path_, "another run has created it meanwhile", kKeep);
    if (!done)
        refuse_output_path(path_, std::strerror(errno), "choose another /output or --output");
    published_ = true;
    base::sync_folder(fs::path(temporary_).parent_path().string());
}

}  // namespace dbench::profile
