#include "base/npy.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"

namespace dbench::base {
namespace {

[[noreturn]] void refuse_npy(const std::string& path, const std::string& problem,
                             const std::string& remedy = "write it again with numpy.save") {
    throw UserError(path + ": " + problem + ": " + remedy);
}

template <class T>
double as(const char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
}

double (*reader_of(const std::string& kind))(const char*) {
    if (kind == "f8") return as<double>;
    if (kind == "f4") return as<float>;
    if (kind == "i8") return as<int64_t>;
    if (kind == "i4") return as<int32_t>;
    if (kind == "i2") return as<int16_t>;
    if (kind == "i1") return as<int8_t>;
    if (kind == "u8") return as<uint64_t>;
    if (kind == "u4") return as<uint32_t>;
    if (kind == "u2") return as<uint16_t>;
    if (kind == "u1" || kind == "b1") return as<uint8_t>;
    return nullptr;
}

// Returns the text after 'key': in the header's Python dictionary.
std::string field(const std::string& header, const std::string& key, const std::string& path) {
    const auto at = header.find("'" + key + "':");
    if (at == std::string::npos)
        refuse_npy(path, "not a NumPy file (no '" + key + "' in its header)");
    const auto first = header.find_first_not_of(' ', at + key.size() + 3);
    if (first == std::string::npos) refuse_npy(path, "not a NumPy file (its header ends early)");
    return header.substr(first);
}

std::vector<size_t> shape_of(const std::string& text, const std::string& path, size_t most) {
    std::vector<size_t> shape;
    const char* at = text.data() + 1;
    const char* end = text.data() + std::min(text.find(')'), text.size());
    if (text[0] != '(') refuse_npy(path, "not a NumPy file (no shape in its header)");
    size_t count = 1;
    while (at < end) {
        size_t length = 0;
        const auto [next, error] = std::from_chars(at, end, length);
        if (error != std::errc()) {
            ++at;
            continue;
        }
        at = next;
        if (length == 0) refuse_npy(path, "the array is empty", "save one with elements");
        if (length > most || count > most / length)
            refuse_npy(path, "the array is too large",
                       "save at most " + std::to_string(most) + " numbers");
        count *= length;
        shape.push_back(length);
    }
    return shape;
}

}  // namespace

size_t NpyArray::count() const {
    size_t all = 1;
    for (const size_t length : shape) all *= length;
    return all;
}

double (*NpyArray::reader() const)(const char*) { return reader_of(kind); }

NpyArray parse_npy(std::string_view content, const std::string& path, size_t most) {
    if (!content.starts_with("\x93NUMPY")) refuse_npy(path, "not a NumPy file");
    if (content.size() < 12) refuse_npy(path, "not a NumPy file (it ends within its header)");
    const bool wide = content[6] >= 2;  // From version 2 on, the length has four bytes.
    size_t length = 0;
    for (int b = wide ? 3 : 1; b >= 0; --b) {
        length = length << 8 | static_cast<unsigned char>(content[8 + b]);
    }
    const size_t start = (wide ? 12 : 10) + length;
    if (start > content.size()) refuse_npy(path, "not a NumPy file (it ends within its header)");
    const std::string header(content.substr(wide ? 12 : 10, length));
    const std::string type = field(header, "descr", path);
    NpyArray array;
    array.kind = type.size() > 4 && type[1] != '>' ? type.substr(2, 2) : "";
    if (array.reader() == nullptr) {
        const bool swapped = type.size() > 4 && type[1] == '>' && reader_of(type.substr(2, 2));
        refuse_npy(path, "the type of the array is not supported (" + type.substr(0, 6) + ")",
                   swapped ? "save it in little-endian order, a.astype(a.dtype.newbyteorder('<'))"
                           : "save it as little-endian float64, a.astype('<f8')");
    }
    array.fortran_order = field(header, "fortran_order", path).rfind("True", 0) == 0;
    array.shape = shape_of(field(header, "shape", path), path, most);
    array.data = content.substr(start);
    if (array.data.size() < array.count() * array.width()) {
        std::string shape;
        for (const size_t each : array.shape) {
            shape += (shape.empty() ? "" : " x ") + std::to_string(each);
        }
        refuse_npy(path, "truncated (" + std::to_string(array.data.size()) + " bytes of data for " +
                             shape + " numbers)");
    }
    return array;
}

}  // namespace dbench::base
