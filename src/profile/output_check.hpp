#pragma once
// Whether a result file can be written to a path. Nothing is written or locked.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dbench::profile {

/// The remedy of a message about a file that must not be replaced.
inline constexpr const char* kKeepOutput =
    "it is left as it is; choose another /output or --output";

/// Throws UserError "the output PATH cannot be written (WHY): WHAT".
[[noreturn]] void refuse_output_path(const std::string& path, const std::string& why,
                                     const std::string& what);

/// Returns true if there is a file at `path`. Throws UserError if no result can be written there,
/// as far as `path` itself shows: without `overwrite` a file is never replaced, with it only a
/// result file that no process is writing. `continued`: see OutputPath.
bool check_output(const std::string& path, bool overwrite, bool continued);

/// Returns the folder of a file: "." for a name alone.
std::filesystem::path folder_of(const std::filesystem::path& file);

/// Returns why a run that starts now, without --overwrite or --resume, would refuse to write its
/// result to `path`; "" if it would not. Writes and locks nothing.
std::string output_obstacle(const std::string& path);

/// Returns the bytes that are free where a file at `path` would be, or nothing if the system does
/// not say.
std::optional<int64_t> free_bytes_at(const std::string& path);

}  // namespace dbench::profile
