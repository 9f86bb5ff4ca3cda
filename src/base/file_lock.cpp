#include "base/file_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace dbench::base {
namespace {

struct flock request(LockMode share, LockRange range) {
    struct flock lock {};
    lock.l_type = share == LockMode::exclusive ? F_WRLCK : F_RDLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = range.first;
    lock.l_len = range.count;
    return lock;
}

}  // namespace

bool try_lock_bytes(int descriptor, LockMode share, LockRange range) {
    struct flock lock = request(share, range);
    return fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

LockState lock_state(int descriptor, LockRange range) {
    struct flock lock = request(LockMode::exclusive, range);
    if (fcntl(descriptor, F_OFD_GETLK, &lock) != 0) return LockState::unknown;
    return lock.l_type == F_UNLCK ? LockState::no : LockState::yes;
}

FileLock::~FileLock() { release(); }

void FileLock::release() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
}

bool FileLock::take(const std::string& path) {
    if (descriptor_ >= 0) return true;
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const int file = ::open(path.c_str(), flags, 0666);
    if (file < 0)
        return true;  // The first write to the folder will report that files cannot be created.
    if (!try_lock_bytes(file, LockMode::exclusive, {}) && (errno == EACCES || errno == EAGAIN)) {
        ::close(file);
        return false;
    }
    descriptor_ = file;
    return true;
}

}  // namespace dbench::base
