#include "data/photograph_check.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "data/files.hpp"
#include "data/jpeg.hpp"
#include "data/picture.hpp"

namespace dbench::data {
namespace {

constexpr int64_t kMostPhotographBytes = int64_t{1} << 30;
constexpr int64_t kTail = 4096;  // Most photographs have their end marker in these last bytes.

[[noreturn]] void refuse_photograph(const std::string& path, const base::InputFile& file,
                                    const std::string& problem, const std::string& remedy) {
    throw base::UserError(path + ": " + problem + " (" + std::to_string(file.size()) +
                          " bytes): " + remedy);
}

[[noreturn]] void truncated(const std::string& path, const base::InputFile& file,
                            const std::string& lacking) {
    refuse_photograph(path, file, "ends too early, without " + lacking,
                      "the file is truncated; get it again, or remove it");
}

/// The bytes of a file in order. A part that is skipped is not read.
class ByteStream {
public:
    explicit ByteStream(const base::InputFile& file) : file_(file) {}

    int64_t position() const { return first_ + next_; }
    void skip(int64_t count) { next_ += count; }
    /// Returns the next byte; nothing at the end of the file.
    std::optional<int> byte() {
        if (next_ >= std::ssize(piece_)) {
            first_ += next_;
            next_ = 0;
            piece_.resize(first_ == 0 ? kTail : 1 << 16);
            piece_.resize(
                static_cast<size_t>(file_.read(first_, std::ssize(piece_), piece_.data())));
            if (piece_.empty()) return std::nullopt;
        }
        return piece_[static_cast<size_t>(next_++)];
    }
    /// Returns the number in the next two bytes; nothing at the end of the file.
    std::optional<int> number() {
        const auto high = byte(), low = byte();
        return high && low ? std::optional(*high << 8 | *low) : std::nullopt;
    }

private:
    const base::InputFile& file_;
    std::vector<uint8_t> piece_;
    int64_t first_ = 0, next_ = 0;  // The place of the piece in the file; the next byte in it.
};

/// Returns the next marker of a JPEG. Skips other bytes, such as the coded data of a scan, in which
/// a byte 0xff is followed by 0.
std::optional<int> next_marker(ByteStream& bytes) {
    bool marks = false;
    while (const auto byte = bytes.byte()) {
        if (marks && *byte != 0 && *byte != 0xff) return byte;
        marks = *byte == 0xff;
    }
    return std::nullopt;
}

/// Returns true if the end marker of a JPEG is in the last bytes of the file, after `from`.
bool ends_in_tail(const base::InputFile& file, int64_t from) {
    constexpr uint8_t kEnd[] = {0xff, 0xd9};
    std::array<uint8_t, kTail> tail{};
    const int64_t first = std::max(from, file.size() - kTail);
    const int64_t count = file.read(first, kTail, tail.data());
    const uint8_t *const data = tail.data(), *const last = data + count;
    return std::search(data, last, std::begin(kEnd), std::end(kEnd)) != last;
}

bool is_frame(int marker) {  // Other markers from 0xc0 to 0xcf hold tables.
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

void check_jpeg(const base::InputFile& file, const std::string& path) {
    const char* const kEndMarker = "a JPEG end marker";
    const auto damaged = [&](const std::string& what) {
        refuse_photograph(path, file, "is a damaged JPEG, " + what, "get it again, or remove it");
    };
    ByteStream bytes(file);
    bytes.skip(2);
    bool framed = false, scanned = false;
    while (const auto marker = next_marker(bytes)) {
        if (*marker == 0xd9) {
            if (!scanned) damaged("without a picture");
            return;
        }
        if (*marker == 0x01 || (*marker >= 0xd0 && *marker <= 0xd8)) continue;  // Without a length.
        const auto length = bytes.number();
        if (!length) break;
        if (*length < 2) damaged("with a segment of a wrong length");
        const int64_t end = bytes.position() + *length - 2;
        if (is_frame(*marker) && !framed) {
            if (*length < 8) damaged("with a frame of a wrong length");
            const auto bits = bytes.byte();
            const auto height = bytes.number(), width = bytes.number();
            const auto components = bytes.byte();
            if (!components) break;
            check_jpeg_frame({*marker, *bits, *height, *width, *components}, path);
            framed = true;
        }
        bytes.skip(end - bytes.position());
        if (*marker != 0xda) continue;
        if (!framed) damaged("without a frame");
        if (!scanned && ends_in_tail(file, end)) return;
        scanned = true;
    }
    truncated(path, file, kEndMarker);
}

void check_png(const base::InputFile& file, const std::string& path) {
    constexpr std::string_view kEndType = "IEND";
    std::string bytes(kPngBeginning, '\0');
    bytes.resize(static_cast<size_t>(file.read(0, std::ssize(bytes), bytes.data())));
    check_png_beginning(bytes, path);
    std::string chunk(8, '\0');  // Length and type.
    if (file.read(file.size() - 12, 8, chunk.data()) == 8 && chunk.substr(4) == kEndType) return;
    for (int64_t at = 8; file.read(at, 8, chunk.data()) == 8;) {
        int64_t length = 0;
        for (size_t k = 0; k < 4; ++k) length = length << 8 | static_cast<uint8_t>(chunk[k]);
        at += length + 12;
        if (chunk.substr(4) == kEndType && at <= file.size()) return;
    }
    truncated(path, file, "the last chunk of a PNG");
}

}  // namespace

void require_photograph(const base::InputFile& file, const std::string& path) {
    file.require("everything in a folder of photographs must be a readable photograph");
    if (file.size() <= kMostPhotographBytes) return;
    refuse_photograph(path, file, "is larger than 1 GiB", "move it out of the folder");
}

std::string check_photograph(const std::string& path) {
    const base::InputFile file(path);
    require_photograph(file, path);
    std::vector<uint8_t> beginning(8);
    beginning.resize(static_cast<size_t>(file.read(0, 8, beginning.data())));
    if (looks_like_png(beginning)) {
        check_png(file, path);
    } else if (looks_like_jpeg(beginning)) {
        check_jpeg(file, path);
    } else {
        refuse_photograph(path, file, "is not a JPEG (it has a wrong beginning)",
                          "convert it, or move it out of the folder");
    }
    const int64_t count = std::min(file.size(), kTail);
    std::vector<uint8_t> end(static_cast<size_t>(count));
    end.resize(static_cast<size_t>(file.read(file.size() - count, count, end.data())));
    return std::to_string(file.size()) + data::digest(beginning) + data::digest(end);
}

}  // namespace dbench::data
