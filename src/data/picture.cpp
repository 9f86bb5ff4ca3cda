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
// The length and the type of the first chunk.
constexpr std::string_view kPngHeader("\0\0\0\x0dIHDR", 8);

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

/// The fields of the header of a PNG.
struct PngHeader {
    int64_t width, height;
    int depth;   ///< Bits per sample.
    int colour;  ///< 0: grey, 2: RGB, 3: palette, 4: grey and alpha, 6: RGB and alpha.
    bool interlaced;

    int64_t samples() const { return colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1; }
    int64_t row_bytes(int64_t pixels) const { return (pixels * samples() * depth + 7) / 8; }
};

PngHeader parse_png_header(std::string_view bytes, const std::string& path) {
    const auto field = [&](size_t at) { return static_cast<uint8_t>(bytes[at]); };
    const PngHeader header{picture_number_at(bytes, 0), picture_number_at(bytes, 4), field(8),
                           field(9), field(12) == 1};
    const int depth = header.depth, colour = header.colour;
    const bool deep = depth == 8 || depth == 16, shallow = depth == 1 || depth == 2 || depth == 4;
    const bool known = colour == 0   ? deep || shallow
                       : colour == 3 ? depth == 8 || shallow
                                     : deep && (colour == 2 || colour == 4 || colour == 6);
    if (!known || field(10) != 0 || field(11) != 0 || field(12) > 1) {
        damaged(path, "its header describes no known kind of PNG");
    }
    Picture sides;
    sides.width = header.width;
    sides.height = header.height;
    check_sides(sides, path);
    return header;
}

/// The pixels that one pass of an interlaced PNG stores: every `step_x`-th column from `first_x`,
/// and every `step_y`-th row from `first_y`.
struct PngPass {
    int64_t first_x, first_y, step_x, step_y;

    int64_t width(const PngHeader& of) const { return (of.width - first_x + step_x - 1) / step_x; }
    int64_t height(const PngHeader& of) const {
        return (of.height - first_y + step_y - 1) / step_y;
    }
};

std::vector<PngPass> png_passes(const PngHeader& header) {
    if (!header.interlaced) return {{0, 0, 1, 1}};
    std::vector<PngPass> passes;
    for (const PngPass& pass : {PngPass{0, 0, 8, 8},
                                {4, 0, 8, 8},
                                {0, 4, 4, 8},
                                {2, 0, 4, 4},
                                {0, 2, 2, 4},
                                {1, 0, 2, 2},
                                {0, 1, 1, 2}}) {
        if (pass.width(header) > 0 && pass.height(header) > 0) passes.push_back(pass);
    }
    return passes;
}

// Reverses the filters of PNG: each byte is stored as its difference from a prediction.
void unfilter(uint8_t* bytes, int64_t height, int64_t row_bytes, int64_t pixel_bytes,
              const std::string& path) {
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

// Returns sample `k` of a row as stored; of 16 bits, the nearest of 8 bits.
uint8_t png_sample(const uint8_t* row, int64_t k, int depth) {
    if (depth == 8) return row[k];
    if (depth == 16) {
        const unsigned value = row[2 * k] << 8U | row[2 * k + 1];
        return static_cast<uint8_t>((value + 128) / 257);
    }
    const int64_t bit = k * depth;
    return static_cast<uint8_t>(row[bit / 8] >> (8 - depth - bit % 8) & ((1 << depth) - 1));
}

// Alpha is dropped, also that of palettes, as by most programs that convert pictures to RGB.
Picture parse_png(std::string_view bytes, const std::string& path) {
    const PngParts parts = png_parts(bytes, path);
    const PngHeader header = parse_png_header(parts.header, path);
    const std::vector<PngPass> passes = png_passes(header);
    Picture picture;
    picture.width = header.width;
    picture.height = header.height;
    picture.channels = header.colour == 0 || header.colour == 4 ? 1 : 3;
    int64_t size = 0;
    for (const PngPass& pass : passes) {
        size += pass.height(header) * (1 + header.row_bytes(pass.width(header)));
    }
    std::string stored;
    if (!inflate_exactly(parts.packed, static_cast<uint64_t>(size), Packing::zlib, stored)) {
        damaged(path, "its pixels cannot be unpacked");
    }
    const int64_t area = header.height * header.width, samples = header.samples();
    // Grey samples of less than 8 bits are scaled to 0 .. 255.
    const int scale = header.colour == 0 && header.depth < 8 ? 255 / ((1 << header.depth) - 1) : 1;
    picture.pixels.resize(static_cast<size_t>(picture.channels * area));
    auto* rows = reinterpret_cast<uint8_t*>(stored.data());
    for (const PngPass& pass : passes) {
        const int64_t height = pass.height(header), width = pass.width(header);
        const int64_t row_bytes = header.row_bytes(width);
        unfilter(rows, height, row_bytes, std::max<int64_t>(1, samples * header.depth / 8), path);
        for (int64_t p = 0; p < height * width; ++p) {
            const int64_t y = p / width, x = p % width;
            const uint8_t* row = rows + y * (row_bytes + 1) + 1;
            uint8_t* to = picture.pixels.data() + (pass.first_y + y * pass.step_y) * header.width +
                          pass.first_x + x * pass.step_x;
            const size_t first =
                header.colour == 3 ? size_t{3} * png_sample(row, x, header.depth) : 0;
            if (header.colour == 3 && first + 3 > parts.palette.size()) {
                damaged(path, "its palette is too short");
            }
            for (int64_t c = 0; c < picture.channels; ++c) {
                to[c * area] = header.colour == 3
                                   ? static_cast<uint8_t>(parts.palette[first + c])
                                   : static_cast<uint8_t>(
                                         scale * png_sample(row, x * samples + c, header.depth));
            }
        }
        rows += height * (row_bytes + 1);
    }
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

void check_png_beginning(const std::string& bytes, const std::string& path) {
    if (bytes.size() < kPngBeginning || std::string_view(bytes).substr(8, 8) != kPngHeader) {
        damaged(path, "it has no header");
    }
    parse_png_header(std::string_view(bytes).substr(16), path);
}

Picture read_picture(const std::string& path) { return parse_picture(base::read_text(path), path); }

}  // namespace dbench::data
