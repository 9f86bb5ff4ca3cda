#pragma once  // Private to train/checkpoints.
// The folder OUTPUT.checkpoints: lists and removes generations. It removes only files that this
// program has written.

#include <cstdint>
#include <string>
#include <vector>

namespace dbench::train {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kPartial = ".partial";  ///< Suffix of the name of an incomplete generation.
/// Suffix of a generation that another one of the same iteration is about to replace.
constexpr const char* kReplaced = ".replaced";
constexpr const char* kLock = "lock";

/// Returns the iterations of the complete generations, newest first.
std::vector<int64_t> generations(const std::string& folder);
/// Returns the paths of the incomplete generations, and of those that were being replaced.
std::vector<std::string> unfinished(const std::string& folder);
/// Renames the generation `partial` to `path`, which may exist already. At every moment the old or
/// the new generation is complete on disk, as `path` or as `path` + kReplaced. Throws RunError if
/// the system refuses; the old generation is then still `path`.
void replace_generation(const std::string& partial, const std::string& path);
/// Gives every generation with the suffix kReplaced its name back if no generation has that name:
/// the process that was replacing it was killed. The caller holds the folder's lock.
void restore_replaced(const std::string& folder);
/// True if the folder holds a generation with the suffix kReplaced.
bool holds_replaced(const std::string& folder);
/// Removes the parts and the manifest of a generation, and its folder if nothing else is in it. A
/// file that only has the name of one of these, but not its first bytes, is kept.
void remove_generation(const std::string& path);
/// True if the folder contains nothing but the lock.
bool holds_only_lock(const std::string& folder);

}  // namespace dbench::train
