#include "base/input_digest.hpp"

#include <array>
#include <cstdio>
#include <filesystem>

namespace dbench::base {
namespace {

constexpr std::array<uint32_t, 256> make_crc_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? 0xedb88320U : 0U);
        table[byte] = rest;
    }
    return table;
}

constexpr std::array<uint32_t, 256> kCrcTable = make_crc_table();

}  // namespace

std::string crc32_text(std::string_view bytes) {
    uint32_t rest = ~uint32_t{0};
    for (const char each : bytes) {
        rest = (rest >> 8) ^ kCrcTable[(rest ^ static_cast<unsigned char>(each)) & 255U];
    }
    char text[16];
    std::snprintf(text, sizeof text, "crc32:%08x", ~rest);
    return text;
}

InputDigest digest_of_file(const std::string& path, std::string_view content) {
    return {std::filesystem::path(path).filename().string(), crc32_text(content),
            static_cast<int64_t>(content.size()), path};
}

}  // namespace dbench::base
