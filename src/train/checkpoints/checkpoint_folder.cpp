#include "train/checkpoints/checkpoint_folder.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace dbench::train {
namespace fs = std::filesystem;
namespace {

bool is_number(const std::string& name) {
    return !name.empty() && name.size() < 19 && name.find_first_not_of("0123456789") == name.npos;
}

/// "part-<rank>.bin"
bool is_part(const std::string& name) {
    return name.size() > 9 && name.starts_with("part-") && name.ends_with(".bin") &&
           is_number(name.substr(5, name.size() - 9));
}

/// Folders in `folder` whose names are a number and `ending`, as numbers.
std::vector<int64_t> numbered(const std::string& folder, const std::string& ending) {
    std::vector<int64_t> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        std::string name = entry.path().filename().string();
        if (!name.ends_with(ending) || entry.is_symlink(ignored)) continue;
        name.resize(name.size() - ending.size());
        if (is_number(name) && entry.is_directory(ignored)) found.push_back(std::stoll(name));
    }
    std::sort(found.rbegin(), found.rend());
    return found;
}

}  // namespace

std::vector<int64_t> generations(const std::string& folder) { return numbered(folder, ""); }

std::vector<std::string> unfinished(const std::string& folder) {
    std::vector<std::string> paths;
    for (const int64_t iteration : numbered(folder, kPartial)) {
        paths.push_back((fs::path(folder) / (std::to_string(iteration) + kPartial)).string());
    }
    return paths;
}

void remove_generation(const std::string& path) {
    std::error_code ignored;
    std::vector<fs::path> ours;
    for (const auto& entry : fs::directory_iterator(path, ignored)) {
        const std::string name = entry.path().filename().string();
        if (name == kManifest || is_part(name)) ours.push_back(entry.path());
    }
    for (const fs::path& file : ours) fs::remove(file, ignored);
    fs::remove(path, ignored);
}

bool holds_only_lock(const std::string& folder) {
    std::error_code ignored;
    return std::all_of(fs::directory_iterator(folder, ignored), fs::directory_iterator(),
                       [](const auto& entry) { return entry.path().filename() == kLock; });
}

}  // namespace dbench::train
