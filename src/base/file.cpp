#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace dbench::base {

NewFile::NewFile(std::string what, std::string path)
    : what_(std::move(what)), path_(std::move(path)) {
    ::unlink(path_.c_str());
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("created");
}

NewFile::~NewFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void NewFile::add(const void* data, size_t bytes) {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t some = ::write(descriptor_, at, std::min<size_t>(bytes, 1 << 28));
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) fail("written");
        at += some;
        bytes -= static_cast<size_t>(some);
    }
}

void NewFile::close() {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail("closed");
}

void NewFile::finish() {
    if (fsync(descriptor_) != 0) fail("synced to the disk");
    close();
}

void NewFile::fail(const char* done) const {
    throw RunError(what_ + " " + path_ + " cannot be " + done + ": " + std::strerror(errno));
}

std::string why_not_regular_file(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return "";
    if (S_ISDIR(status.st_mode)) return "it is a folder";
    return "it is a pipe or a device, not a regular file";
}

void write_synced(const std::string& what, const std::string& path, const std::string& bytes) {
    NewFile file(what, path);
    file.add(bytes.data(), bytes.size());
    file.finish();
}

void sync_folder(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;  // Some file systems cannot open folders.
    fsync(descriptor);
    ::close(descriptor);
}

bool rename_without_replacing(const std::string& from, const std::string& to) {
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
    if (errno == EEXIST) return false;
    // Other errors: the file system has no such rename. A link does not replace anything either.
    if (::link(from.c_str(), to.c_str()) == 0) {
        ::unlink(from.c_str());
        return true;
    }
    if (errno == EEXIST) return false;
    if (::access(to.c_str(), F_OK) == 0) {
        errno = EEXIST;
        return false;
    }
    return std::rename(from.c_str(), to.c_str()) == 0;
}

void rename_file(const std::string& what, const std::string& from, const std::string& to,
                 bool replace) {
    const bool done =
        replace ? std::rename(from.c_str(), to.c_str()) == 0 : rename_without_replacing(from, to);
    if (!done) {
        throw RunError(what + " " + to +
                       " cannot be renamed from its .partial name: " + std::strerror(errno));
    }
}

void replace_file(const std::string& what, const std::string& path, const std::string& bytes) {
    const std::string partial = path + ".partial";
    try {
        NewFile file(what, partial);
        file.add(bytes.data(), bytes.size());
        file.close();
        rename_file(what, partial, path, true);
    } catch (...) {
        ::unlink(partial.c_str());
        throw;
    }
}

void check_writable(const std::string& what, const std::string& path) {
    const std::string partial = path + ".partial";
    NewFile(what, partial).close();
    ::unlink(partial.c_str());
}

}  // namespace dbench::base
