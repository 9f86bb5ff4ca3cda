#pragma once
// The folder OUTPUT.checkpoints: which generations are in it, and how they go. Only what this
// program has written there is ever removed. Internal to this room.

#include <cstdint>
#include <string>
#include <vector>

namespace dbench::train {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kPartial = ".partial";  ///< behind the name of an unfinished generation
constexpr const char* kLock = "lock";

/// Iterations of the finished ones, newest first.
std::vector<int64_t> generations(const std::string& folder);
/// Paths of the unfinished ones.
std::vector<std::string> unfinished(const std::string& folder);
/// The parts and the manifest of a generation, and its folder where nothing else is in it.
void remove_generation(const std::string& path);
/// Whether nothing is in the folder but the lock.
bool holds_only_lock(const std::string& folder);

}  // namespace dbench::train
