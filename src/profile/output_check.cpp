#include "profile/output_check.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include "base/error.hpp"
#include "profile/result_file.hpp"

namespace dbench::profile {
namespace fs = std::filesystem;
namespace {

/// Inspects the existing file. Throws UserError if it is not a result file.
Inspection inspect_old_file(const std::string& path) {
    try {
        return inspect(path);
    } catch (const base::UserError&) {
        refuse_output_path(path, "the existing file is not a result file of dbench", kKeepOutput);
    }
}

void check_replaceable(const std::string& path, bool continued) {
    const std::string keep = kKeepOutput;
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

/// Returns the folder that exists and in which missing folders on the way to `folder` would be
/// made: `folder` itself, or the nearest one above it.
fs::path nearest_folder(fs::path folder) {
    std::error_code ignored;
    while (!fs::exists(fs::status(folder, ignored))) {
        const fs::path above = folder.parent_path();
        if (above.empty() || above == folder) return above.empty() ? fs::path(".") : above;
        folder = above;
    }
    return folder;
}

}  // namespace

void refuse_output_path(const std::string& path, const std::string& why, const std::string& what) {
    throw base::UserError("the output " + path + " cannot be written (" + why + "): " + what);
}

bool check_output(const std::string& path, bool overwrite, bool continued) {
    if (path.empty()) refuse_output_path("\"\"", "it has no name", "give /output or --output");
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::exists(status)) {
        if (fs::is_directory(status))
            refuse_output_path(path, "it is a folder", "name a file in it");
        if (!fs::is_regular_file(status))
            refuse_output_path(path, "it is not an ordinary file", "name another one");
        if (!overwrite) {
            inspect_old_file(path);  // a file of another kind can be neither replaced nor continued
            refuse_output_path(path, "it exists", "give --overwrite, --resume or another --output");
        }
        check_replaceable(path, continued);
        return true;
    }
    if (fs::is_symlink(fs::symlink_status(path, error))) {
        refuse_output_path(path, "it is a link without a target", "remove the link");
    }
    if (!fs::path(path).has_filename())
        refuse_output_path(path, "it is a folder", "name a file in it");
    return false;
}

fs::path folder_of(const fs::path& file) {
    return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

std::string output_obstacle(const std::string& path) {
    try {
        // A file that not even --overwrite would replace deserves the more specific message.
        if (check_output(path, true, false)) check_output(path, false, false);
        const fs::path folder = nearest_folder(folder_of(path));
        if (access((folder / ".").c_str(), W_OK | X_OK) != 0) {
            refuse_output_path(path, "folder " + folder.string() + ": " + std::strerror(errno),
                               "choose another /output or --output");
        }
        return "";
    } catch (const base::UserError& error) {
        return error.what();
    }
}

std::optional<int64_t> free_bytes_at(const std::string& path) {
    std::error_code error;
    const fs::space_info space = fs::space(nearest_folder(folder_of(path)), error);
    if (error || space.available > static_cast<uintmax_t>(std::numeric_limits<int64_t>::max()))
        return std::nullopt;
    return static_cast<int64_t>(space.available);
}

}  // namespace dbench::profile
