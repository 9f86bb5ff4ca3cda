#pragma once
// Decoding JPEG photographs: their size, and the pixels of a part, at full or reduced size.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dbench::data {

/// RGB pixels of a rectangle of a photograph: rows top .. top + height - 1 and columns left .. left
/// + width - 1.
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
    /// Reads the header. Supports grey, colour and CMYK files, also the inverted inks that Adobe
    /// writes. `path` names the file in errors. `bytes` must outlive this object. Throws UserError
    /// if the file is not a JPEG, is damaged, or has more than 2^28 pixels.
    Jpeg(std::span<const uint8_t> bytes, std::string path);
    ~Jpeg();
    Jpeg(const Jpeg&) = delete;

    int64_t width() const;
    int64_t height() const;

    /// Decodes the photograph at eighths/8 of its size (1 to 8), which uses inverse transforms of
    /// fewer coefficients, and only the rows and columns that `part` needs. `out` is in pixels of
    /// that size and includes a few pixels around the part, if there are any. May be called once.
    /// Throws UserError if the file is damaged, ends before the part does, or is coded in so many
    /// passes (scans) over the photograph that decoding would take many seconds.
    void decode(const Part& part, int64_t eighths, Pixels& out);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The frame header of a JPEG.
struct JpegFrame {
    int marker;  ///< 0xc0 to 0xcf: the kind of coding.
    int bits;    ///< Per sample.
    int64_t height, width;
    int components;
};
/// Throws UserError, which names the file, unless Jpeg can decode such a frame.
void check_jpeg_frame(const JpegFrame& frame, const std::string& path);

/// Returns true if a file begins like a JPEG, or like a PNG.
bool looks_like_jpeg(std::span<const uint8_t> beginning);
bool looks_like_png(std::span<const uint8_t> beginning);

/// Returns the version of the linked library, such as "libjpeg-turbo 2.1.5".
std::string jpeg_version();

}  // namespace dbench::data
