#pragma once
// A temporary folder for tests.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

namespace dbench::base {

/// A temporary folder, which is removed with its contents by the destructor.
class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "dbench-test-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }
    /// Number of files and folders in it, including hidden ones.
    int64_t entries() const {
        return std::distance(std::filesystem::directory_iterator(path_), {});
    }

private:
    std::string path_;
};

}  // namespace dbench::base
