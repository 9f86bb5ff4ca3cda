#include "data/sets/idx.hpp"

#include <cstdio>
#include <utility>

#include "base/error.hpp"
#include "data/files.hpp"

namespace dbench::data {
namespace {

constexpr int64_t kIdxSide = 28;
constexpr uint32_t kImagesMagic = 0x803, kLabelsMagic = 0x801;  // Unsigned bytes, rank 3 and 1.

uint32_t idx_number_at(const DataFile& file, int64_t offset) {
    uint32_t value = 0;
    for (int64_t k = 0; k < 4; ++k) value = value << 8 | file.bytes[offset + k];
    return value;
}

[[noreturn]] void refuse_idx(const DataFile& file, const std::string& what,
                             const std::string& found, const std::string& expected,
                             const std::string& source) {
    throw base::UserError(file.path + ": " + what + " (found " + found + ", expected " + expected +
                          "): get it again from " + source);
}

// Checks the magic number and dimensions before the size, because they identify a wrong file best.
DataFile read_idx(const std::string& path, uint32_t magic, const std::vector<int64_t>& shape,
                  const std::string& source) {
    int64_t header = 4, size = 1;
    for (const int64_t each : shape) {
        header += 4;
        size *= each;
    }
    DataFile file = read_data_file(path, header + size, source);
    const std::string layout = std::to_string(header) + " of header and " + std::to_string(size);
    if (file.size < header) check_size(file, header + size, layout, source);

    const auto hexadecimal = [](uint32_t value) {
        char text[16];
        std::snprintf(text, sizeof text, "0x%08x", value);
        return std::string(text);
    };
    const char* kind = magic == kImagesMagic ? "images" : "labels";
    if (idx_number_at(file, 0) != magic) {
        refuse_idx(file, std::string("is not an IDX file of ") + kind,
                   "magic number " + hexadecimal(idx_number_at(file, 0)), hexadecimal(magic),
                   source);
    }
    for (size_t d = 0; d < shape.size(); ++d) {
        const uint32_t found = idx_number_at(file, 4 + 4 * static_cast<int64_t>(d));
        if (found == shape[d]) continue;
        const std::string what = d == 0   ? std::string("holds a wrong number of ") + kind
                                 : d == 1 ? "holds images of a wrong height"
                                          : "holds images of a wrong width";
        refuse_idx(file, what, std::to_string(found), std::to_string(shape[d]), source);
    }
    check_size(file, header + size, layout, source);
    return file;
}

}  // namespace

Images read_idx(const IdxFiles& files, int64_t count, std::string digests[2]) {
    const DataFile pixels =
        read_idx(files.images, kImagesMagic, {count, kIdxSide, kIdxSide}, files.source);
    const DataFile labels = read_idx(files.labels, kLabelsMagic, {count}, files.source);
    Images images;
    images.channels = 1;
    images.height = images.width = kIdxSide;
    images.pixels.assign(pixels.bytes.begin() + 16, pixels.bytes.end());
    images.labels.assign(labels.bytes.begin() + 8, labels.bytes.end());
    for (int64_t k = 0; k < count; ++k) {
        if (images.labels[k] > 9) {
            refuse_idx(labels, "label " + std::to_string(k) + " is out of range",
                       std::to_string(images.labels[k]), "0 to 9", files.source);
        }
    }
    if (digests != nullptr) {
        digests[0] = digest(pixels.bytes);
        digests[1] = digest(labels.bytes);
    }
    return images;
}

}  // namespace dbench::data
