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

void replace_file(const std::string& what, const std::string& path, const std::string& bytes) {
    const std::string partial = path + ".partial";
    try {
        NewFile file(what, partial);
        file.add(bytes.data(), bytes.size());
        file.close();
        if (std::rename(partial.c_str(), path.c_str()) != 0) {
            throw RunError(what + " " + path +
                           " cannot be renamed from its .partial name: " + std::strerror(errno));
        }
    } catch (...) {
        ::unlink(partial.c_str());
        throw;
    }
}

}  // namespace dbench::base
