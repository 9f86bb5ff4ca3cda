#include "train/checkpoints/checkpoint_folder.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "train/checkpoints/checkpoint_part.hpp"

namespace dbench::train {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kManifestBegin = R"({"manifest":"{\"version\":)";

bool is_number(const std::string& name) {
    return !name.empty() && name.size() < 19 && name.find_first_not_of("0123456789") == name.npos;
}

/// True for "part-<rank>.bin".
bool is_part(const std::string& name) {
    return name.size() > 9 && name.starts_with("part-") && name.ends_with(".bin") &&
           is_number(name.substr(5, name.size() - 9));
}

/// True if the file is a regular one that begins with `first`, or ends within it: a kill or a full
/// disk may have cut it.
bool begins_with(const fs::path& path, std::string_view first) {
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(path, error))) return false;
    std::ifstream file(path, std::ios::binary);
    std::string found(first.size(), '\0');
    file.read(found.data(), static_cast<std::streamsize>(found.size()));
    found.resize(static_cast<size_t>(file.gcount()));
    return !file.bad() && first.starts_with(found);
}

/// True if this program has written the file: by its name and its first bytes.
bool is_ours(const fs::path& path) {
    const std::string name = path.filename().string();
    if (name == kManifest) return begins_with(path, kManifestBegin);
    return is_part(name) && begins_with(path, kPartBegin);
}

/// Returns the folders in `folder` named by a number followed by `ending`, as numbers, largest
/// first.
std::vector<int64_t> numbered(const std::string& folder, const std::string& ending) {
    std::vector<int64_t> found;
    std::error_code ignored;
    for (std::string name : base::names_in(folder, ignored)) {
        const fs::path path = fs::path(folder) / name;
        if (!name.ends_with(ending) || fs::is_symlink(path, ignored)) continue;
        name.resize(name.size() - ending.size());
        if (is_number(name) && fs::is_directory(path, ignored)) found.push_back(std::stoll(name));
    }
    std::sort(found.rbegin(), found.rend());
    return found;
}

}  // namespace

std::vector<int64_t> generations(const std::string& folder) { return numbered(folder, ""); }

std::vector<std::string> unfinished(const std::string& folder) {
    std::vector<std::string> paths;
    for (const char* const suffix : {kPartial, kReplaced}) {
        for (const int64_t iteration : numbered(folder, suffix)) {
            paths.push_back((fs::path(folder) / (std::to_string(iteration) + suffix)).string());
        }
    }
    return paths;
}

void replace_generation(const std::string& partial, const std::string& path) {
    const std::string replaced = path + kReplaced;
    const auto refuse = [&](const std::error_code& error) {
        throw base::RunError("the checkpoint " + path + ": " + error.message());
    };
    std::error_code error;
    const bool exists = fs::exists(path, error);
    if (exists) {
        remove_generation(replaced);
        fs::rename(path, replaced, error);
        if (error) refuse(error);
    }
    fs::rename(partial, path, error);
    if (error) {
        std::error_code ignored;
        if (exists) fs::rename(replaced, path, ignored);
        refuse(error);
    }
    if (exists) remove_generation(replaced);
}

void restore_replaced(const std::string& folder) {
    for (const int64_t iteration : numbered(folder, kReplaced)) {
        const fs::path path = fs::path(folder) / std::to_string(iteration);
        std::error_code ignored;
        if (!fs::exists(path, ignored)) fs::rename(path.string() + kReplaced, path, ignored);
    }
}

bool holds_replaced(const std::string& folder) { return !numbered(folder, kReplaced).empty(); }

void remove_generation(const std::string& path) {
    std::error_code ignored;
    std::vector<fs::path> ours;
    for (const std::string& name : base::names_in(path, ignored)) {
        if (is_ours(fs::path(path) / name)) ours.push_back(fs::path(path) / name);
    }
    for (const fs::path& file : ours) fs::remove(file, ignored);
    fs::remove(path, ignored);
}

bool holds_only_lock(const std::string& folder) {
    std::error_code ignored;
    const std::vector<std::string> names = base::names_in(folder, ignored);
    return std::ranges::all_of(names, [](const std::string& name) { return name == kLock; });
}

}  // namespace dbench::train
