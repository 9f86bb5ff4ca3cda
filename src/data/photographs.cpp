#include "data/photographs.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/framing.hpp"
#include "data/files.hpp"
#include "data/jpeg.hpp"

namespace dbench::data {
namespace {

namespace fs = std::filesystem;
using base::UserError;

// Returns the names in a folder, sorted, without hidden ones.
std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(".")) names.push_back(name);
    }
    if (error) {
        throw UserError(folder.string() + ": cannot be read (" + error.message() +
                        "): name a folder of photographs");
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// An open file of a photograph. All functions throw UserError.
class OpenFile {
public:
    explicit OpenFile(std::string path)
        : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
        struct stat status {};
        if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) fail(std::strerror(errno));
        if (!S_ISREG(status.st_mode)) fail("it is not a regular file");
        size_ = status.st_size;
    }
    ~OpenFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    OpenFile(const OpenFile&) = delete;

    int64_t size() const { return size_; }
    /// Reads `count` bytes from offset `at`.
    void read(int64_t at, int64_t count, std::vector<uint8_t>& out) {
        out.resize(static_cast<size_t>(count));
        for (int64_t got = 0; got < count;) {
            const ssize_t some =
                ::pread(descriptor_, out.data() + got, static_cast<size_t>(count - got), at + got);
            if (some < 0 && errno == EINTR) continue;
            if (some <= 0)
                fail(some == 0 ? "it became shorter while it was read" : std::strerror(errno));
            got += some;
        }
    }

private:
    [[noreturn]] void fail(const std::string& why) {
        if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
        throw UserError(path_ + ": cannot be read (" + why +
                        "): everything in a folder of photographs must be a readable photograph");
    }

    std::string path_;
    int descriptor_;
    int64_t size_ = 0;
};

class FolderPhotographs : public Photographs {
public:
    FolderPhotographs(const std::string& folder, ClassBy by) : folder_(folder) {
        by == ClassBy::folder ? add_folders() : add_names();
        if (size() > 0) return;
        throw UserError(folder + ": holds no photographs" +
                        (by == ClassBy::folder
                             ? " (it holds no class folders): name the folder that holds one "
                               "folder per class, or set \"class_by\": \"name\""
                             : ": name the folder that holds them"));
    }

    std::string path(int64_t k) const override {
        return (folder_ / names[static_cast<size_t>(k)]).string();
    }

    std::span<const uint8_t> bytes(int64_t k, std::vector<uint8_t>& buffer) const override {
        OpenFile file(path(k));
        file.read(0, file.size(), buffer);
        return buffer;
    }

    std::string digest() const override { return data::digest(base::join_texts(names)); }

    std::string contents_digest() const override { return contents_digest_; }

    void check() {
        constexpr int64_t kLongestTail = 4096;  // Some files continue after the end marker.
        constexpr uint8_t kEnd[] = {0xff, 0xd9};
        std::vector<uint8_t> part;
        std::string seen;
        for (int64_t k = 0; k < size(); ++k) {
            OpenFile file(path(k));
            file.read(0, std::min<int64_t>(file.size(), 8), part);
            const bool is_png = looks_like_png(part);
            if (!is_png && !looks_like_jpeg(part)) {
                throw UserError(path(k) + ": is not a JPEG (" + std::to_string(file.size()) +
                                " bytes with a wrong beginning): convert it, or move it out "
                                "of the folder");
            }
            const int64_t tail = std::min(file.size(), kLongestTail);
            file.read(file.size() - tail, tail, part);
            seen += std::to_string(file.size()) + data::digest(part);
            if (is_png) continue;
            if (std::search(part.begin(), part.end(), std::begin(kEnd), std::end(kEnd)) ==
                part.end()) {
                throw UserError(path(k) + ": ends too early (" + std::to_string(file.size()) +
                                " bytes without a JPEG end marker): the file is truncated; get "
                                "it again, or remove it");
            }
        }
        contents_digest_ = data::digest(seen);
    }

private:
    void add_folders() {
        for (const std::string& name : names_in(folder_)) {
            if (!fs::is_directory(folder_ / name)) continue;
            const std::vector<std::string> files = names_in(folder_ / name);
            if (files.empty()) {
                throw UserError((folder_ / name).string() +
                                ": holds no photographs (each folder is a class): add some, or "
                                "remove the folder");
            }
            for (const std::string& file : files) add(name, name + "/" + file);
        }
    }

    void add_names() {
        std::vector<std::pair<std::string, std::string>> all;
        for (const std::string& name : names_in(folder_)) {
            if (fs::is_directory(folder_ / name)) continue;
            all.emplace_back(name.substr(0, name.find_first_of("_.")), name);
        }
        std::sort(all.begin(), all.end());
        for (const auto& [label, name] : all) add(label, name);
    }

    // Precondition: photographs are added in the order of their classes.
    void add(const std::string& label, const std::string& name) {
        if (classes.empty() || classes.back() != label) classes.push_back(label);
        names.push_back(name);
        labels.push_back(static_cast<int32_t>(classes.size() - 1));
    }

    fs::path folder_;
    std::string contents_digest_;
};

}  // namespace

std::shared_ptr<const Photographs> photographs_in(const std::string& folder, ClassBy by,
                                                  bool check) {
    auto all = std::make_shared<FolderPhotographs>(folder, by);
    if (check) all->check();
    return all;
}

}  // namespace dbench::data
