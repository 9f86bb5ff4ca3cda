#pragma once
// Photographs in JPEG files: how large they are, and the pixels of a part of one, at its own size
// or smaller.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dbench::data {

/// Pixels in red, green and blue: rows top .. top + height - 1 of a photograph, and of each the
/// columns left .. left + width - 1.
struct Pixels {
    int64_t left = 0, top = 0, width = 0, height = 0;
    std::vector<uint8_t> rgb;  ///< (height, width, 3)
};

/// A rectangle, in pixels of the whole photograph.
struct Part {
    double left, top, width, height;
};

class Jpeg {
public:
    /// Reads the header. Grey, colour and CMYK (Adobe's, whose inks are inverted, too). `path`
    /// names the file in errors, and `bytes` must outlive this. Throws UserError where it is no
    /// JPEG, damaged or of more than 2^28 pixels.
    Jpeg(std::span<const uint8_t> bytes, std::string path);
    ~Jpeg();
    Jpeg(const Jpeg&) = delete;

    int64_t width() const;
    int64_t height() const;

    /// Decodes the photograph at eighths/8 of its size (1 to 8: inverse transforms of fewer
    /// coefficients), no more of it than `part` needs; `out` is in pixels of that size and holds
    /// some around the part, if there are any. Once. Throws UserError where the file is damaged or
    /// ends before the part does.
    void decode(const Part& part, int64_t eighths, Pixels& out);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Whether a file begins as a JPEG does, as a PNG does.
bool looks_like_jpeg(std::span<const uint8_t> beginning);
bool looks_like_png(std::span<const uint8_t> beginning);

/// "libjpeg-turbo 2.1.5": what this program is linked to.
std::string jpeg_version();

}  // namespace dbench::data
