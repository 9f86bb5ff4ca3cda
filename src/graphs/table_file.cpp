#include "graphs/table_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/npy.hpp"

namespace dbench::graphs {
namespace {

constexpr size_t kMostNumbers = 1 << 28;

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
    throw base::UserError(path + ": " + problem);
}

}  // namespace

NumberTable parse_npy(const std::string& content, const std::string& path) {
    base::NpyArray array = base::parse_npy(content, path, kMostNumbers);
    if (array.shape.empty() || array.shape.size() > 2) {
        refuse(path, "a graph needs an array of two dimensions (a matrix or a list of edges)");
    }
    if (array.shape.size() == 1) array.shape.push_back(1);
    const size_t rows = array.shape[0], columns = array.shape[1];
    const auto read = array.reader();
    NumberTable table(rows, std::vector<double>(columns));
    for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
            const size_t at = array.fortran_order ? j * rows + i : i * columns + j;
            table[i][j] = read(array.data.data() + at * array.width());
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

NumberTable read_numbers(const std::string& path, std::vector<base::InputDigest>* inputs) {
    const std::string content = base::read_text(path);
    const auto same_path = [&](const base::InputDigest& each) { return each.path == path; };
    if (inputs && std::none_of(inputs->begin(), inputs->end(), same_path)) {
        inputs->push_back(base::digest_of_file(path, content));
    }
    return content.rfind("\x93NUMPY", 0) == 0 ? parse_npy(content, path)
                                              : parse_text(content, path);
}

}  // namespace dbench::graphs
