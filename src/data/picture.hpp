#pragma once
// Reading pictures: PNG with 8 bits per sample, and binary PPM and PGM.

#include <cstdint>
#include <string>
#include <vector>

namespace dbench::data {

struct Picture {
    int64_t channels = 0, height = 0, width = 0;
    std::vector<uint8_t> pixels;  ///< (C, H, W).
};

/// Reads a picture file. Throws UserError, with the file and the remedy, if it is damaged or in
/// another format.
Picture read_picture(const std::string& path);
/// Reads a picture from the contents of a file; `path` names it in errors.
Picture parse_picture(const std::string& bytes, const std::string& path);

}  // namespace dbench::data
