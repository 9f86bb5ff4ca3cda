#pragma once
// Reading pictures: PNG of every kind, and binary PPM and PGM with 8 bits per sample.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dbench::data {

struct Picture {
    int64_t channels = 0, height = 0, width = 0;
    std::vector<uint8_t> pixels;  ///< (C, H, W).
};

/// Reads a picture file. Grey pictures have one channel, and all others three. Samples of 16 bits
/// are rounded to 8, and transparency is dropped. Throws UserError, with the file and the remedy,
/// if the file is damaged or in another format.
Picture read_picture(const std::string& path);
/// Reads a picture from the contents of a file; `path` names it in errors.
Picture parse_picture(const std::string& bytes, const std::string& path);

constexpr size_t kPngBeginning = 33;  ///< Bytes of a PNG up to the end of its header.
/// Throws UserError if a PNG that begins with these bytes is of no known kind or too large. `bytes`
/// has at least kPngBeginning bytes, unless the file is shorter.
void check_png_beginning(const std::string& bytes, const std::string& path);

}  // namespace dbench::data
