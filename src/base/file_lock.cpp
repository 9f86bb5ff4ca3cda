#include "base/file_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace dbench::base {
namespace {

#ifdef F_OFD_SETLK
constexpr int kSet = F_OFD_SETLK, kGet = F_OFD_GETLK;
#else
constexpr int kSet = F_SETLK, kGet = F_GETLK;
#endif

struct flock request(Share share, LockRange range) {
    struct flock lock {};
    lock.l_type = share == Share::alone ? F_WRLCK : F_RDLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = range.first;
    lock.l_len = range.count;
    return lock;
}

}  // namespace

bool lock_bytes(int descriptor, Share share, LockRange range) {
    struct flock lock = request(share, range);
    return fcntl(descriptor, kSet, &lock) == 0;
}

Locked locked_bytes(int descriptor, LockRange range) {
    struct flock lock = request(Share::alone, range);
    if (fcntl(descriptor, kGet, &lock) != 0) return Locked::unknown;
    return lock.l_type == F_UNLCK ? Locked::no : Locked::yes;
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
    if (file < 0) return true;  // whoever cannot make it will hear so when writing
    if (!lock_bytes(file, Share::alone, {}) && (errno == EACCES || errno == EAGAIN)) {
        ::close(file);
        return false;
    }
    descriptor_ = file;
    return true;
}

}  // namespace dbench::base
