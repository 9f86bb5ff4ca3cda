// PNG pictures of every kind, compared with the samples from which they were made.

#include "data/picture.hpp"

#include <zlib.h>

#include <array>

#include "catch.hpp"
#include "data/support.hpp"

using namespace dbench;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int64_t kWidth = 13, kHeight = 9;

std::string big_endian(uint32_t value) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
    return out;
}

std::string chunk(const std::string& content) {  // The content begins with the type.
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()),
                           static_cast<unsigned>(content.size()));
    return big_endian(static_cast<uint32_t>(content.size() - 4)) + content +
           big_endian(static_cast<uint32_t>(crc));
}

/// A picture of stored samples: `samples` of `depth` bits for each pixel.
struct Stored {
    int colour, depth, samples;

    unsigned at(int64_t x, int64_t y, int c) const {
        const auto mixed =
            static_cast<unsigned>((x * 7919 + y * 104729 + c * 1299709 + 12345) * 2654435761U);
        return mixed >> (32 - depth);
    }
    std::string row(int64_t y, int64_t first, int64_t step) const {
        std::string bytes;
        unsigned bits = 0, count = 0;
        for (int64_t x = first; x < kWidth; x += step) {
            for (int c = 0; c < samples; ++c) {
                for (int b = depth - 1; b >= 0; --b) {
                    bits = bits << 1 | (at(x, y, c) >> b & 1);
                    if (++count % 8 == 0) bytes += static_cast<char>(bits);
                }
            }
        }
        if (count % 8 != 0) bytes += static_cast<char>(bits << (8 - count % 8));
        return bytes;
    }
};

/// Encodes rows in turn without a filter and as differences from the row above.
std::string filtered(const std::vector<std::string>& rows) {
    std::string out;
    for (size_t y = 0; y < rows.size(); ++y) {
        out += static_cast<char>(y % 2 == 0 ? 0 : 2);
        for (size_t k = 0; k < rows[y].size(); ++k) {
            out += static_cast<char>(rows[y][k] - (y % 2 == 0 ? 0 : rows[y - 1][k]));
        }
    }
    return out;
}

std::string png_of(const Stored& stored, bool interlaced, const std::string& palette) {
    std::string raw;
    const std::vector<std::array<int64_t, 4>> passes =
        interlaced ? std::vector<std::array<int64_t, 4>>{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8},
                                                         {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2},
                                                         {0, 1, 1, 2}}
                   : std::vector<std::array<int64_t, 4>>{{0, 0, 1, 1}};
    for (const auto& [left, top, across, down] : passes) {
        std::vector<std::string> rows;
        for (int64_t y = top; y < kHeight; y += down) rows.push_back(stored.row(y, left, across));
        raw += filtered(rows);
    }
    uLongf size = compressBound(raw.size());
    std::string packed(size, '\0');
    compress(reinterpret_cast<Bytef*>(packed.data()), &size,
             reinterpret_cast<const Bytef*>(raw.data()), raw.size());
    packed.resize(size);
    std::string header = "IHDR" + big_endian(kWidth) + big_endian(kHeight);
    header += static_cast<char>(stored.depth);
    header += static_cast<char>(stored.colour);
    header += std::string(2, '\0') + static_cast<char>(interlaced);
    return "\x89PNG\r\n\x1a\n" + chunk(header) + (palette.empty() ? "" : chunk("PLTE" + palette)) +
           chunk("tRNS0000") + chunk("IDAT" + packed) + chunk("IEND");
}

}  // namespace

TEST_CASE("a PNG of every kind is read") {
    std::string palette;
    for (int k = 0; k < 256 * 3; ++k) palette += static_cast<char>(k * 37 % 251);
    const bool interlaced = GENERATE(false, true);
    for (const Stored& stored : {Stored{0, 1, 1},
                                 {0, 2, 1},
                                 {0, 4, 1},
                                 {0, 8, 1},
                                 {0, 16, 1},
                                 {2, 8, 3},
                                 {2, 16, 3},
                                 {3, 1, 1},
                                 {3, 2, 1},
                                 {3, 4, 1},
                                 {3, 8, 1},
                                 {4, 8, 2},
                                 {4, 16, 2},
                                 {6, 8, 4},
                                 {6, 16, 4}}) {
        CAPTURE(stored.colour, stored.depth, interlaced);
        const bool indexed = stored.colour == 3;
        const auto picture =
            data::parse_picture(png_of(stored, interlaced, indexed ? palette : ""), "a.png");
        const int64_t channels = stored.colour == 0 || stored.colour == 4 ? 1 : 3;
        REQUIRE(picture.channels == channels);
        REQUIRE((picture.width == kWidth && picture.height == kHeight));
        const double most = (1 << stored.depth) - 1;
        bool same = true;
        for (int64_t c = 0; c < channels; ++c) {
            for (int64_t y = 0; y < kHeight; ++y) {
                for (int64_t x = 0; x < kWidth; ++x) {
                    const unsigned value = stored.at(x, y, indexed ? 0 : static_cast<int>(c));
                    const int right = indexed ? static_cast<uint8_t>(palette[3 * value + c])
                                              : static_cast<int>(value * 255 / most + 0.5);
                    same = same && picture.pixels[(c * kHeight + y) * kWidth + x] == right;
                }
            }
        }
        CHECK(same);
    }
}

TEST_CASE("a PNG of an unknown kind is refused by its beginning") {
    const std::string good = png_of({2, 8, 3}, false, "");
    const auto said = [&](size_t at, char value) {
        std::string bytes = good.substr(0, data::kPngBeginning);
        bytes[at] = value;
        return test::refusal([&] { data::check_png_beginning(bytes, "a.png"); });
    };
    CHECK(said(0, good[0]).empty());
    CHECK(said(24, 16).empty());
    for (const auto& [at, value] : {std::pair<size_t, char>{24, 4},
                                    {24, 0},
                                    {25, 1},
                                    {25, 7},
                                    {26, 1},
                                    {27, 1},
                                    {28, 2},
                                    {12, 'J'}}) {
        CHECK_THAT(said(at, value), ContainsSubstring("a.png: is damaged"));
    }
    CHECK_THAT(said(16, 1), ContainsSubstring("allowed are sides"));
    CHECK_THAT(test::refusal([&] { data::check_png_beginning(good.substr(0, 20), "a.png"); }),
               ContainsSubstring("a.png: is damaged"));
}
