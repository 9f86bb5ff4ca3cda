#include "profile/file_guard.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace dbench::profile {
namespace {

constexpr base::LockRange kGuardByte{.first = int64_t{1} << 62, .count = 1};
// Space that HDF5 may need in addition to the rows: indices, attributes.
constexpr int64_t kMargin = 256 << 10;
constexpr int64_t kStep = 1 << 20;  // Bytes reserved at a time.

/// True if a file of `size` bytes exceeds the process's file-size limit. A reservation does not
/// check the limit, and a write beyond it is reported as an error only because the recorder ignores
/// the signal.
bool beyond_limit(int64_t size) {
    struct rlimit limit {};
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           static_cast<rlim_t>(size) > limit.rlim_cur;
}

int allocate(int descriptor, int64_t from, int64_t to) {
    if (beyond_limit(to)) return EFBIG;
    while (fallocate(descriptor, FALLOC_FL_KEEP_SIZE, from, to - from) != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

}  // namespace

FileGuard::FileGuard(const std::string& path, base::LockMode mode)
    : descriptor_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (descriptor_ < 0) throw h5::Error(std::string("cannot open it (") + strerror(errno) + ")");
    if (base::try_lock_bytes(descriptor_, mode, kGuardByte)) return;
    // Other errors: a file system without locks can be written as well.
    if (mode == base::LockMode::shared || (errno != EACCES && errno != EAGAIN)) return;
    close(std::exchange(descriptor_, -1));
    throw GuardHeld("another process holds it");
}

FileGuard::FileGuard(FileGuard&& other) noexcept { *this = std::move(other); }

FileGuard& FileGuard::operator=(FileGuard&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(reserved_, other.reserved_);
    std::swap(can_reserve_, other.can_reserve_);
    return *this;
}

FileGuard::~FileGuard() {
    if (descriptor_ >= 0) close(descriptor_);
}

void FileGuard::reserve(int64_t bytes) {
    struct stat now {};
    if (!can_reserve_ || fstat(descriptor_, &now) != 0) return;
    const int64_t needed = now.st_size + bytes + kMargin;
    if (needed <= reserved_) return;
    const int64_t from = std::max<int64_t>(now.st_size, reserved_);
    int error = allocate(descriptor_, from, needed + kStep);
    reserved_ = needed + kStep;
    if (error != 0) {
        error = allocate(descriptor_, from, needed);
        reserved_ = needed;
    }
    if (error == 0) return;
    reserved_ = 0;
    if (error != ENOSPC && error != EDQUOT && error != EFBIG && error != EIO) {
        can_reserve_ = false;  // Reservation is not supported on this file system.
        return;
    }
    throw NoSpace(std::string("cannot make it longer (") + strerror(error) + ")");
}

std::string FileGuard::sync() {
    while (descriptor_ >= 0 && fdatasync(descriptor_) != 0) {
        if (errno == EINTR) continue;
        if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) return "";
        return std::string("cannot sync it to the disk (") + strerror(errno) + ")";
    }
    return "";
}

void FileGuard::release_reserve() noexcept {
    struct stat now {};
    if (descriptor_ < 0 || fstat(descriptor_, &now) != 0) return;
    if (reserved_ > now.st_size) static_cast<void>(!ftruncate(descriptor_, now.st_size));
    static_cast<void>(fsync(descriptor_));
    reserved_ = 0;
}

std::string FileGuard::name(const std::string& path) const {
    const std::string open = "/proc/self/fd/" + std::to_string(descriptor_);
    if (descriptor_ >= 0 && access(open.c_str(), F_OK) == 0) return open;
    if (const std::string problem = path_problem(path); !problem.empty()) throw h5::Error(problem);
    return path;
}

std::string FileGuard::path_problem(const std::string& path) const {
    struct stat mine {
    }, there{};
    if (descriptor_ < 0 || fstat(descriptor_, &mine) != 0) return "";
    const bool exists = stat(path.c_str(), &there) == 0;
    if (exists && there.st_dev == mine.st_dev && there.st_ino == mine.st_ino) return "";
    const std::string number = std::to_string(descriptor_);
    if (mine.st_nlink == 0) {
        return "was removed while it was being written: all its data are lost when the run "
               "ends (until then, cp /proc/" +
               std::to_string(getpid()) + "/fd/" + number + " COPY.h5 saves them)";
    }
    std::array<char, 4096> now{};
    const ssize_t length = readlink(("/proc/self/fd/" + number).c_str(), now.data(), now.size());
    const std::string where = length > 0 ? std::string(now.data(), static_cast<size_t>(length))
                                         : "an unknown path in the same file system";
    return std::string("was moved") + (exists ? ", and another file put in its place," : "") +
           " while it was being written: this run's rows are written to " + where +
           ", and no more checkpoints are written";
}

int64_t FileGuard::size() const noexcept {
    struct stat now {};
    return descriptor_ >= 0 && fstat(descriptor_, &now) == 0 ? now.st_size : 0;
}

base::LockState writer_lock(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return base::LockState::unknown;
    const base::LockState found = base::lock_state(descriptor, kGuardByte);
    close(descriptor);
    return found;
}

}  // namespace dbench::profile
