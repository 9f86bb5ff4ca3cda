#include "profile/folder_check.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"
#include "profile/column.hpp"
#include "profile/file_guard.hpp"
#include "profile/h5.hpp"

namespace dbench::profile {
namespace fs = std::filesystem;
namespace {

constexpr double kLittleSpace = 100e6;  // Bytes.

std::string system_error() { return std::strerror(errno); }

/// The files of one check; removed by the destructor.
class Scratch {
public:
    explicit Scratch(const fs::path& folder)
        : stem_((folder / (".dbench-check." + std::to_string(getpid()))).string()) {}
    ~Scratch() {
        for (const char* end : {".a", ".b", ".h5", ".copy"}) unlink(path(end).c_str());
    }
    std::string path(const char* end) const { return stem_ + end; }

private:
    std::string stem_;
};

/// Writes `text` to a new file and syncs it to the disk. Returns the reason if that fails, else "".
std::string write_file(const std::string& path, const std::string& text) {
    const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
    if (file < 0) return system_error();
    std::string problem;
    if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        fsync(file) != 0) {
        problem = system_error();
    }
    if (close(file) != 0 && problem.empty()) problem = system_error();
    return problem;
}

std::string try_locks(const Scratch& scratch) {
    const std::string path = scratch.path(".a");
    const FileGuard guard(path);
    switch (writer_lock(path)) {
        case base::LockState::yes:
            return "";
        case base::LockState::no:
            return "other processes do not see a lock: doctor cannot tell a dead writer from a "
                   "living one";
        case base::LockState::unknown:
            break;
    }
    return system_error() + ": doctor cannot tell a dead writer from a living one";
}

std::string try_rename(const Scratch& scratch) {
    if (const std::string problem = write_file(scratch.path(".b"), "new"); !problem.empty()) {
        return problem;
    }
    const bool renamed = std::rename(scratch.path(".b").c_str(), scratch.path(".a").c_str()) == 0;
    return renamed ? "" : system_error();
}

/// Writes in single-writer mode and reads a copy of what the file system shows at that moment.
std::string try_reading_while_writing(const Scratch& scratch) {
    const std::string path = scratch.path(".h5"), copy = scratch.path(".copy");
    const h5::File file(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, h5::file_access()),
                        "create a file");
    const ColumnSpec spec{"row", Kind::int64, "I", "1", "for a test"};
    Column column(file, spec, Axes{}, arena::DType::float64, Chunking{16, 16, true});
    h5::check(H5Fstart_swmr_write(file), "open the file for readers");
    for (int64_t row = 0; row < 20; ++row) column.add(row);
    FileGuard guard(path);
    column.commit(0, Commit::all, guard);
    h5::check(H5Fflush(file, H5F_SCOPE_LOCAL), "flush the file");

    std::error_code error;
    fs::copy_file(path, copy, error);
    if (error) return error.message();
    const h5::File seen(
        H5Fopen(copy.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, h5::file_access()),
        "read what was written");
    const h5::Dataset rows(H5Dopen2(seen, "row", H5P_DEFAULT), "read what was written");
    const h5::Space space(H5Dget_space(rows), "read what was written");
    if (H5Sget_simple_extent_npoints(space) != 20) return "rows are missing";
    int64_t values[20];
    h5::check(H5Dread(rows, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
              "read what was written");
    for (int64_t row = 0; row < 20; ++row) {
        if (values[row] != row) return "rows read back differ";
    }
    return "";
}

FolderCheck::Item free_space(const std::string& folder) {
    struct statvfs status {};
    if (statvfs(folder.c_str(), &status) != 0) return {"free space", false, system_error()};
    const double bytes =
        static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
    return {"free space", bytes >= kLittleSpace, base::bytes_text(bytes)};
}

}  // namespace

FolderCheck check_folder(const std::string& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) throw base::UserError(folder + " is not a folder");
    h5::prepare();
    const Scratch scratch(folder);
    FolderCheck check{folder, {}};
    const auto item = [&](const char* what, const std::function<std::string()>& attempt) {
        std::string problem;
        try {
            problem = attempt();
        } catch (const std::exception& failure) {
            problem = failure.what();
        }
        check.items.push_back({what, problem.empty(), problem});
        return problem.empty();
    };
    if (item("write and fsync", [&] { return write_file(scratch.path(".a"), "old"); })) {
        item("locks seen by others", [&] { return try_locks(scratch); });
        item("rename over a file", [&] { return try_rename(scratch); });
        item("read while writing", [&] { return try_reading_while_writing(scratch); });
    }
    check.items.push_back(free_space(folder));
    return check;
}

std::string to_text(const FolderCheck& check) {
    std::string text = check.folder + "\n";
    for (const FolderCheck::Item& item : check.items) {
        text += base::column("  " + item.what, 25) + base::column(item.good ? "ok" : "NO", 4) +
                (item.detail.empty() ? "" : "  " + item.detail) + "\n";
    }
    return text;
}

}  // namespace dbench::profile
