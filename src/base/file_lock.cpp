#include "base/file_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace dbench::base {
namespace {

#ifdef F_OFD_SETLK
constexpr int kSet = F_OFD_SETLK;
#else
constexpr int kSet = F_SETLK;
#endif

}  // namespace

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
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(file, kSet, &lock) != 0 && (errno == EACCES || errno == EAGAIN)) {
        ::close(file);
        return false;
    }
    descriptor_ = file;
    return true;
}

}  // namespace dbench::base
