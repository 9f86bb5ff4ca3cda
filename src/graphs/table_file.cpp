#include "graphs/table_file.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "base/json.hpp"

namespace dbench::graphs {
namespace {

constexpr size_t kMostNumbers = 1 << 28;

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
    throw base::UserError(path + ": " + problem);
}

template <class T>
double as(const char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
}

// The text after 'key': in the header's Python dictionary.
std::string field(const std::string& header, const std::string& key, const std::string& path) {
    const auto at = header.find("'" + key + "':");
    if (at == std::string::npos) refuse(path, "not a NumPy file (no '" + key + "' in its header)");
    const auto first = header.find_first_not_of(' ', at + key.size() + 3);
    if (first == std::string::npos) refuse(path, "not a NumPy file (its header ends early)");
    return header.substr(first);
}

double (*reader(const std::string& kind))(const char*) {
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

std::vector<size_t> shape_of(const std::string& text, const std::string& path) {
    std::vector<size_t> shape;
    const char* at = text.data() + 1;
    const char* end = text.data() + std::min(text.find(')'), text.size());
    while (at < end) {
        size_t length = 0;
        const auto [next, error] = std::from_chars(at, end, length);
        if (error == std::errc()) {
            shape.push_back(length);
            at = next;
        } else {
            ++at;
        }
    }
    if (text[0] != '(' || shape.empty() || shape.size() > 2) {
        refuse(path, "a graph needs an array of two dimensions (a matrix or a list of edges)");
    }
    if (shape.size() == 1) shape.push_back(1);
    for (const size_t length : shape) {
        if (length == 0) refuse(path, "the array is empty");
        if (length > kMostNumbers) refuse(path, "the array is too large for a graph");
    }
    return shape;
}

}  // namespace

NumberTable parse_npy(const std::string& content, const std::string& path) {
    if (content.size() < 12) refuse(path, "not a NumPy file (it ends within its header)");
    const bool wide = content[6] >= 2;  // version 2 has four bytes of length
    size_t length = 0;
    for (int b = wide ? 3 : 1; b >= 0; --b) {
        length = length << 8 | static_cast<unsigned char>(content[8 + b]);
    }
    const size_t start = (wide ? 12 : 10) + length;
    if (start > content.size()) refuse(path, "not a NumPy file (it ends within its header)");
    const std::string header = content.substr(wide ? 12 : 10, length);
    const std::string type = field(header, "descr", path);
    const auto read = type.size() > 4 && type[1] != '>' ? reader(type.substr(2, 2)) : nullptr;
    if (read == nullptr) {
        refuse(path, "the array's type is not known (" + type.substr(0, 6) +
                         "): save it as little-endian float64, a.astype('<f8')");
    }
    const bool columns_first = field(header, "fortran_order", path).rfind("True", 0) == 0;
    const auto shape = shape_of(field(header, "shape", path), path);
    const size_t width = static_cast<size_t>(type[3] - '0');
    if (shape[0] * shape[1] > kMostNumbers ||
        content.size() - start < shape[0] * shape[1] * width) {
        refuse(path, "truncated (" + std::to_string(content.size() - start) +
                         " bytes of data for " + std::to_string(shape[0]) + " x " +
                         std::to_string(shape[1]) + " numbers)");
    }
    NumberTable table(shape[0], std::vector<double>(shape[1]));
    for (size_t i = 0; i < shape[0]; ++i) {
        for (size_t j = 0; j < shape[1]; ++j) {
            const size_t at = columns_first ? j * shape[0] + i : i * shape[1] + j;
            table[i][j] = read(content.data() + start + at * width);
            if (!std::isfinite(table[i][j])) {
                refuse(path, "row " + std::to_string(i) + " holds a number that is not finite");
            }
        }
    }
    return table;
}

NumberTable parse_text(const std::string& content, const std::string& path) {
    NumberTable table;
    size_t line = 0;
    for (size_t start = 0; start < content.size();) {
        const size_t end = std::min(content.find('\n', start), content.size());
        ++line;
        std::vector<double> row;
        const char* at = content.data() + start;
        const char* stop = content.data() + std::min(content.find('#', start), end);
        while (at < stop) {
            if (std::strchr(" \t\r,;", *at) != nullptr && *at != '\0') {
                ++at;
                continue;
            }
            if (*at == '+') ++at;
            double value = 0;
            const auto [next, error] = std::from_chars(at, stop, value);
            if (error != std::errc() || !std::isfinite(value)) {
                refuse(path, "line " + std::to_string(line) +
                                 ": not a finite number; rows are numbers separated by blanks or "
                                 "commas, comments begin with #");
            }
            row.push_back(value);
            at = next;
        }
        if (!row.empty()) table.push_back(std::move(row));
        start = end + 1;
    }
    return table;
}

NumberTable read_numbers(const std::string& path) {
    const std::string content = base::read_text(path);
    return content.rfind("\x93NUMPY", 0) == 0 ? parse_npy(content, path)
                                              : parse_text(content, path);
}

}  // namespace dbench::graphs
