#pragma once
// Checking the file of a photograph without decoding it.

#include <string>

#include "base/input_file.hpp"

namespace dbench::data {

/// Throws UserError unless the file is open and has at most 1 GiB; `path` names it.
void require_photograph(const base::InputFile& file, const std::string& path);

/// Throws UserError unless the file is a JPEG or a PNG of a kind that can be decoded, and is not
/// truncated. Bytes after the end of the photograph are allowed. Reads the beginning and the end of
/// the file, and more of it only if its last 4096 bytes do not hold the end of the photograph.
/// Returns a text that depends on the file's size, its first 8 and its last 4096 bytes.
std::string check_photograph(const std::string& path);

}  // namespace dbench::data
