#pragma once
// Pictures in files: PNG of 8 bits a sample, and binary PPM and PGM.

#include <cstdint>
#include <string>
#include <vector>

namespace dbench::data {

struct Picture {
    int64_t channels = 0, height = 0, width = 0;
    std::vector<uint8_t> pixels;  ///< (C, H, W)
};

/// Throws UserError that names the file and the remedy, where it is another kind or damaged.
Picture read_picture(const std::string& path);
/// The same of a file's contents; `path` names it in errors.
Picture parse_picture(const std::string& bytes, const std::string& path);

}  // namespace dbench::data
