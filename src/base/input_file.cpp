#include "base/input_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error.hpp"
#include "base/json.hpp"

namespace dbench::base {
namespace {

constexpr const char* kCheckPath = "check the path and its permissions";

}  // namespace

InputFile::InputFile(const std::string& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
    struct stat status {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
        // A socket and a device without a driver cannot be opened at all.
        problem_ = errno == ENXIO ? "it is not a regular file" : std::strerror(errno);
    } else if (S_ISDIR(status.st_mode)) {
        problem_ = "it is a folder";
    } else if (!S_ISREG(status.st_mode)) {
        problem_ = "it is a pipe or a device, not a regular file";
    }
    size_ = status.st_size;
    if (problem_.empty() || descriptor_ < 0) return;
    ::close(std::exchange(descriptor_, -1));
}

InputFile::~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::require(const std::string& remedy) const {
    if (problem_.empty()) return;
    throw UserError(path_ + ": cannot be read (" + problem_ + "): " + remedy);
}

int64_t InputFile::read(int64_t at, int64_t count, void* out) const {
    int64_t got = 0;
    while (got < count) {
        const auto piece = static_cast<size_t>(std::min<int64_t>(count - got, 1 << 28));
        const ssize_t some = ::pread(descriptor_, static_cast<char*>(out) + got, piece, at + got);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) {
            throw UserError(path_ + ": cannot be read (" + std::strerror(errno) +
                            "): check the disk, or get the file again");
        }
        if (some == 0) break;
        got += some;
    }
    return got;
}

std::string without_byte_order_mark(std::string text, const std::string& path) {
    using namespace std::string_view_literals;
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
    const bool wide = text.starts_with("\xff\xfe\0\0"sv) || text.starts_with("\0\0\xfe\xff"sv);
    if (wide || text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
        throw UserError(path + ": is a text in " + (wide ? "UTF-32" : "UTF-16") +
                        " (its byte order mark says so, and only UTF-8 is read): convert it, for "
                        "example with iconv -f " +
                        (wide ? "UTF-32" : "UTF-16") + " -t UTF-8");
    }
    return text;
}

std::string read_plain_text(const std::string& path) {
    return without_byte_order_mark(read_text(path), path);
}

PathKind kind_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) {
        if (S_ISREG(status.st_mode)) return PathKind::file;
        return S_ISDIR(status.st_mode) ? PathKind::folder : PathKind::other;
    }
    if (errno == ENOENT || errno == ENOTDIR) return PathKind::nothing;
    throw UserError(path + ": cannot be looked up (" + std::strerror(errno) + "): " + kCheckPath);
}

std::vector<std::string> names_in(const std::string& folder, std::error_code& error) {
    std::vector<std::string> names;
    error.clear();
    DIR* const open = ::opendir(folder.c_str());
    if (open == nullptr) {
        error.assign(errno, std::generic_category());
        return names;
    }
    for (errno = 0; const dirent* const entry = ::readdir(open); errno = 0) {
        const std::string name = entry->d_name;
        if (name != "." && name != "..") names.push_back(name);
    }
    if (errno != 0) error.assign(errno, std::generic_category());
    ::closedir(open);
    std::sort(names.begin(), names.end());
    return names;
}

bool is_numbered(std::string_view name, std::string_view begin, std::string_view end) {
    if (!name.starts_with(begin)) return false;
    name.remove_prefix(begin.size());
    if (!name.ends_with(end)) return false;
    name.remove_suffix(end.size());
    return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

}  // namespace dbench::base
