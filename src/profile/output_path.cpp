#include "profile/output_path.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
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

void check_replaceable(const std::string& path) {
    const std::string keep = "it is left as it is; choose another /output or --output";
    Inspection old;
    try {
        old = inspect(path);
    } catch (const base::UserError&) {
        refuse_output_path(path, "the existing file is not a result file of dbench", keep);
    }
    if (old.writer == Writer::alive) refuse_output_path(path, "another run is writing it", keep);
    if (old.writer == Writer::unknown) {
        refuse_output_path(
            path,
            "a run on " + (old.host.empty() ? "another host" : old.host) + " may be writing it",
            "wait, or remove the file by hand");
    }
    if (access(path.c_str(), W_OK) != 0) refuse_output_path(path, std::strerror(errno), keep);
}

int rename_without_replacing(const char* from, const char* to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno == EEXIST) return -1;  // Other errors: the file system has no such rename.
    if (access(to, F_OK) == 0) {
        errno = EEXIST;
        return -1;
    }
    return std::rename(from, to);
}

}  // namespace

OutputPath::OutputPath(const std::string& path, bool overwrite)
    : path_(path), overwrite_(overwrite) {
    if (path.empty()) refuse_output_path("\"\"", "it has no name", "give /output or --output");
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::exists(status)) {
        if (fs::is_directory(status))
            refuse_output_path(path, "it is a folder", "name a file in it");
        if (!fs::is_regular_file(status))
            refuse_output_path(path, "it is not an ordinary file", "name another one");
        if (!overwrite)
            refuse_output_path(path, "it exists", "give --overwrite, --resume or another --output");
        check_replaceable(path);
        // A symbolic link is kept; its target is replaced.
        path_ = fs::canonical(path, error).string();
        if (error) refuse_output_path(path, error.message(), "name another file");
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

void OutputPath::publish() {
    const int status = overwrite_ ? std::rename(temporary_.c_str(), path_.c_str())
                                  : rename_without_replacing(temporary_.c_str(), path_.c_str());
    if (status != 0)
        refuse_output_path(path_, std::strerror(errno), "choose another /output or --output");
    published_ = true;
}

}  // namespace dbench::profile
