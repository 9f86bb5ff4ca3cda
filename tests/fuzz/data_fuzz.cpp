// Fuzz target for files of data sets, chosen by their first bytes: a picture (PNG, PPM, PGM), an
// archive of arrays (.npz), or else images in the IDX format, plain or compressed. For IDX, the
// first byte gives the share of the images file in the rest, in 255ths.

#include <zlib.h>

#include <nlohmann/json.hpp>

#include "data/dataset.hpp"
#include "data/picture.hpp"
#include "data/sets/idx.hpp"
#include "fuzz.hpp"

namespace dbench::fuzz {
namespace {

// Bytes of the signature of a PNG; bytes of length, type and checksum of a chunk.
constexpr size_t kSignature = 8, kFrame = 12;

// Corrects all checksums; otherwise no changed picture would be read beyond the changed chunk.
std::string mended(std::string png) {
    const auto number = [&](size_t at) {
        size_t value = 0;
        for (size_t k = 0; k < 4; ++k) value = value << 8 | static_cast<uint8_t>(png[at + k]);
        return value;
    };
    for (size_t at = kSignature; png.size() - at >= kFrame;) {
        const size_t size = number(at);
        if (size > png.size() - at - kFrame) break;
        const auto* type = reinterpret_cast<const Bytef*>(png.data()) + at + 4;
        const uLong sum = crc32_z(crc32_z(0, nullptr, 0), type, size + 4);
        at += kFrame + size;
        for (size_t k = 1; k <= 4; ++k) png[at - k] = static_cast<char>(sum >> 8 * (k - 1));
    }
    return png;
}

void read_idx_files(const std::string& input) {
    const std::string rest = input.substr(1);
    const size_t share = rest.size() * static_cast<unsigned char>(input[0]) / 255;
    const std::string images = in_file(rest.substr(0, share), "images.gz");
    const std::string labels = in_file(rest.substr(share), "labels.gz");
    static_cast<void>(data::read_idx({images, labels, "a test"}, 4));
}

}  // namespace

const char* const kWords[] = {"\x1f\x8b\x08",
                              "\xff\xff\xff\xff",
                              "\x08\x03",
                              "\x08\x01",
                              "\x7f\xff\xff\xff",
                              "PK\x01\x02",
                              "PK\x05\x06",
                              "PLTE",
                              "IDAT",
                              "IEND",
                              "(99999999,)",
                              "'<f8'",
                              "P5 3 2 255\n",
                              "P6 3 2 255\n",
                              "y_train.npy",
                              nullptr};

void read(const std::string& input) {
    if (input.empty()) return;
    if (input.starts_with("\x89PNG\r\n\x1a\n")) {
        static_cast<void>(data::parse_picture(mended(input), "a.png"));
    } else if (input.starts_with("P5") || input.starts_with("P6")) {
        static_cast<void>(data::parse_picture(input, "a.ppm"));
    } else if (input.starts_with("PK")) {
        const base::Json given{{"type", "npz"}, {"train", in_file(input, "mine.npz")}};
        static_cast<void>(data::load_data(data::resolve_data(given, "/data"), {1, 1}));
    } else {
        read_idx_files(input);
    }
}

}  // namespace dbench::fuzz
