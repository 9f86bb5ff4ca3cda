#include "data/zip.hpp"

#include <zlib.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/json.hpp"
#include "data/inflate.hpp"

namespace dbench::data {
namespace {

constexpr uint64_t kEnd = 0x06054b50, kCentral = 0x02014b50, kLocal = 0x04034b50;
constexpr uint64_t kElsewhere = 0xffffffff;  // A number that is too large for its field.
constexpr size_t kMostArchiveBytes = size_t{4} << 30;

std::string arrays_file(const std::string& path) {
    if (base::InputFile(path).size() > static_cast<int64_t>(kMostArchiveBytes)) {
        throw base::UserError(path +
                              ": is larger than 4 GiB: save it with numpy.savez_compressed, or in "
                              "two files, one for training and one for testing");
    }
    return base::read_text(path, kMostArchiveBytes);
}

}  // namespace

void Zip::refuse(const std::string& problem) const {
    throw base::UserError(path_ + ": " + problem + ": " + words_.remedy);
}

void Zip::refuse_damaged(const std::string& problem) const {
    refuse("is a damaged " + words_.kind.substr(words_.kind.find(' ') + 1) + " (" + problem + ")");
}

uint64_t Zip::number(uint64_t at, int width) const {
    if (at > bytes_.size() || bytes_.size() - at < static_cast<uint64_t>(width)) {
        refuse_damaged("it ends too early");
    }
    uint64_t value = 0;
    for (int b = width - 1; b >= 0; --b) {
        value = value << 8 | static_cast<unsigned char>(bytes_[at + static_cast<uint64_t>(b)]);
    }
    return value;
}

Zip::Zip(std::string path)
    : Zip(path, arrays_file(path),
          {"an .npz file", "arrays", "write it again with numpy.savez or numpy.savez_compressed"}) {
}

Zip::Zip(std::string path, std::string bytes, ArchiveWords words)
    : path_(std::move(path)), bytes_(std::move(bytes)), words_(std::move(words)) {
    // The end record has 22 bytes and a comment of at most 65535 bytes.
    uint64_t end = bytes_.size() < 22 ? 0 : bytes_.size() - 22;
    const uint64_t least = end > 65535 ? end - 65535 : 0;
    while (end > least && number(end, 4) != kEnd) --end;
    if (bytes_.size() < 22 || number(end, 4) != kEnd) {
        refuse("is not " + words_.kind + " (an archive of " + words_.holds + ")");
    }
    uint64_t at = number(end + 16, 4);
    if (at == kElsewhere) refuse("is too large (4 GiB or more is not supported)");
    for (uint64_t left = number(end + 10, 2); left > 0; --left) {
        if (number(at, 4) != kCentral) refuse_damaged("its directory is damaged");
        add_entry(at);
        at += 46 + number(at + 28, 2) + number(at + 30, 2) + number(at + 32, 2);
    }
}

void Zip::add_entry(uint64_t at) {
    Entry entry{number(at + 10, 2), number(at + 16, 4), number(at + 20, 4), number(at + 24, 4),
                number(at + 42, 4)};
    const uint64_t name = at + 46, name_size = number(at + 28, 2);
    const uint64_t extra = name + name_size, extra_end = extra + number(at + 30, 2);
    // Large sizes are stored in the extra field with the number 1, which holds only the values that
    // are too large, in this order.
    for (uint64_t field = extra; field + 4 <= extra_end; field += 4 + number(field + 2, 2)) {
        if (number(field, 2) != 1) continue;
        uint64_t value = field + 4;
        for (uint64_t* each : {&entry.size, &entry.packed, &entry.offset}) {
            if (*each != kElsewhere) continue;
            *each = number(value, 8);
            value += 8;
        }
    }
    if ((number(at + 8, 2) & 1) != 0) refuse("is encrypted");
    if (extra > bytes_.size()) refuse_damaged("it ends too early");
    entries_[bytes_.substr(name, name_size)] = entry;
}

std::vector<std::string> Zip::names() const {
    std::vector<std::string> all;
    for (const auto& [name, entry] : entries_) all.push_back(name);
    return all;
}

std::string Zip::read(const std::string& name) const {
    const Entry& entry = entries_.at(name);
    if (number(entry.offset, 4) != kLocal) refuse_damaged(name + " is damaged");
    const uint64_t start =
        entry.offset + 30 + number(entry.offset + 26, 2) + number(entry.offset + 28, 2);
    if (start > bytes_.size() || entry.packed > bytes_.size() - start) {
        refuse_damaged(name + " ends too early");
    }
    const std::string_view packed(bytes_.data() + start, entry.packed);
    std::string out;
    bool whole = entry.method == 0 && entry.packed == entry.size;
    if (whole) out = packed;
    if (entry.method == 8) whole = inflate_exactly(packed, entry.size, Packing::raw, out);
    const auto crc =
        crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(out.data()), out.size());
    if (!whole || crc != entry.crc) refuse_damaged(name + " is damaged");
    return out;
}

}  // namespace dbench::data
