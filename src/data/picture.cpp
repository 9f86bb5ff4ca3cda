// Decoders for PNG (ISO/IEC 15948) and for PPM and PGM (P6 and P5 of netpbm).

#include "data/picture.hpp"

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/json.hpp"
#include "data/inflate.hpp"

namespace dbench::data {
namespace {

constexpr int64_t kMostSide = 1 << 14;

[[noreturn]] void refuse_picture(const std::string& path, const std::string& problem,
                                 const std::string& remedy) {
    throw base::UserError(path + ": " + problem + ": " + remedy);
}

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
    refuse_picture(path, "is damaged (" + what + ")", "replace it by a good copy, or remove it");
}

constexpr const char* kConvert =
    "convert it, for example with ImageMagick: mogrify -format png -depth 8 -type TrueColor "
    "-interlace "
    "none FILE";

uint32_t picture_number_at(std::string_view bytes, size_t at) {
    uint32_t value = 0;
    for (size_t b = 0; b < 4; ++b) value = value << 8 | static_cast<uint8_t>(bytes[at + b]);
    return value;
}

void check_sides(const Picture& picture, const std::string& path) {
    for (const int64_t side : {picture.height, picture.width}) {
        if (side < 1 || side > kMostSide) {
            refuse_picture(
                path,
                "is " + std::to_string(picture.width) + " by " + std::to_string(picture.height) +
                    " pixels (allowed are sides of 1 to " + std::to_string(kMostSide) + ")",
                "make it smaller");
        }
    }
}

// Converts interleaved samples (pixel by pixel) to planes.
void take_planes(Picture& picture, const uint8_t* samples) {
    const int64_t area = picture.height * picture.width, channels = picture.channels;
    picture.pixels.resize(static_cast<size_t>(channels * area));
    for (int64_t p = 0; p < area; ++p) {
        for (int64_t c = 0; c < channels; ++c) {
            picture.pixels[static_cast<size_t>(c * area + p)] = samples[p * channels + c];
        }
    }
}

struct PngParts {
    std::string_view header, palette;
    std::string packed;  // The compressed image data.
};

PngParts png_parts(std::string_view bytes, const std::string& path) {
    PngParts parts;
    for (size_t at = 8;;) {
        if (bytes.size() - at < 12) damaged(path, "it ends too early");
        const size_t size = picture_number_at(bytes, at);
        if (size > bytes.size() - at - 12) damaged(path, "it ends too early");
        const std::string_view type = bytes.substr(at + 4, 4), data = bytes.substr(at + 8, size);
        const auto crc =
            crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(type.data()), size + 4);
        if (crc != picture_number_at(bytes, at + 8 + size)) damaged(path, "a checksum is wrong");
        if (type == "IHDR") parts.header = data;
        if (type == "PLTE") parts.palette = data;
        if (type == "IDAT") parts.packed += data;
        if (type == "IEND") break;
        at += 12 + size;
    }
    if (parts.header.size() != 13) damaged(path, "it has no header");
    return parts;
}

// Reverses the filters of PNG: each byte is stored as its difference from a prediction.
void unfilter(std::string& rows, int64_t height, int64_t row_bytes, int64_t pixel_bytes,
              const std::string& path) {
    auto* bytes = reinterpret_cast<uint8_t*>(rows.data());
    for (int64_t y = 0; y < height; ++y) {
        uint8_t* row = bytes + y * (row_bytes + 1) + 1;
        const uint8_t* above = y > 0 ? row - row_bytes - 1 : nullptr;
        const int filter = row[-1];
        if (filter > 4) damaged(path, "row " + std::to_string(y) + " has an unknown filter");
        for (int64_t x = 0; x < row_bytes; ++x) {
            const int left = x >= pixel_bytes ? row[x - pixel_bytes] : 0;
            const int up = above != nullptr ? above[x] : 0;
            const int corner = above != nullptr && x >= pixel_bytes ? above[x - pixel_bytes] : 0;
            int predicted = 0;
            if (filter == 1) predicted = left;
            if (filter == 2) predicted = up;
            if (filter == 3) predicted = (left + up) / 2;
            if (filter == 4) {
                const int p = left + up - corner;
                const int a = std::abs(p - left), b = std::abs(p - up), c = std::abs(p - corner);
                predicted = a <= b && a <= c ? left : b <= c ? up : corner;
            }
            row[x] = static_cast<uint8_t>(row[x] + predicted);
        }
    }
}

Picture parse_png(std::string_view bytes, const std::string& path) {
    const PngParts parts = png_parts(bytes, path);
    const int depth = parts.header[8], colour = parts.header[9], interlaced = parts.header[12];
    if (depth != 8 || interlaced != 0 || (colour != 0 && colour != 2 && colour != 3)) {
        refuse_picture(path,
                       "is a PNG in a format that is not supported (" + std::to_string(depth) +
                           " bits per sample" + (colour >= 4 ? ", transparent" : "") +
                           (interlaced != 0 ? ", interlaced" : "") + ")",
                       kConvert);
    }
    Picture picture;
    picture.width = picture_number_at(parts.header, 0);
    picture.height = picture_number_at(parts.header, 4);
    picture.channels = colour == 0 ? 1 : 3;
    check_sides(picture, path);
    const int64_t samples = colour == 2 ? 3 : 1, row = picture.width * samples;
    std::string rows;
    if (!inflate_exactly(parts.packed, static_cast<uint64_t>(picture.height * (row + 1)),
                         Packing::zlib, rows)) {
        damaged(path, "its pixels cannot be unpacked");
    }
    unfilter(rows, picture.height, row, samples, path);
    std::vector<uint8_t> plain;
    for (int64_t y = 0; y < picture.height; ++y) {
        for (int64_t x = 0; x < row; ++x) {
            const auto value =
                static_cast<uint8_t>(rows[static_cast<size_t>(y * (row + 1) + 1 + x)]);
            if (colour != 3) {
                plain.push_back(value);
                continue;
            }
            if (parts.palette.size() < size_t{3} * (value + 1U))
                damaged(path, "its palette is too short");
            for (size_t c = 0; c < 3; ++c) {
                plain.push_back(static_cast<uint8_t>(parts.palette[size_t{3} * value + c]));
            }
        }
    }
    take_planes(picture, plain.data());
    return picture;
}

// The format: "P6 WIDTH HEIGHT 255" and one blank before the samples; comments are allowed.
Picture parse_pnm(std::string_view bytes, const std::string& path) {
    size_t at = 2;
    const auto next = [&] {
        while (at < bytes.size() &&
               (std::isspace(static_cast<uint8_t>(bytes[at])) != 0 || bytes[at] == '#')) {
            if (bytes[at] == '#') at = std::min(bytes.find('\n', at), bytes.size() - 1);
            ++at;
        }
        int64_t value = 0;
        while (at < bytes.size() && std::isdigit(static_cast<uint8_t>(bytes[at])) != 0) {
            value = std::min<int64_t>(value * 10 + (bytes[at++] - '0'), 1 << 20);
        }
        return value;
    };
    Picture picture;
    picture.channels = bytes[1] == '6' ? 3 : 1;
    picture.width = next();
    picture.height = next();
    if (const int64_t most = next(); most != 255) {
        refuse_picture(path,
                       "has values up to " + std::to_string(most) + " (only 255 is supported)",
                       kConvert);
    }
    ++at;
    check_sides(picture, path);
    const auto size = static_cast<size_t>(picture.channels * picture.height * picture.width);
    if (bytes.size() < at || bytes.size() - at < size) damaged(path, "it ends too early");
    take_planes(picture, reinterpret_cast<const uint8_t*>(bytes.data()) + at);
    return picture;
}

}  // namespace

Picture parse_picture(const std::string& bytes, const std::string& path) {
    if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return parse_png(bytes, path);
    if (bytes.starts_with("P5") || bytes.starts_with("P6")) return parse_pnm(bytes, path);
    const bool jpeg = bytes.starts_with("\xff\xd8\xff");
    refuse_picture(path,
                   jpeg ? "is a JPEG, which only the data set imagenet reads"
                        : "is not a PNG, PPM (P6) or PGM (P5)",
                   jpeg ? kConvert : "convert it, or move it out of the folder");
}

Picture read_picture(const std::string& path) { return parse_picture(base::read_text(path), path); }

}  // namespace dbench::data
