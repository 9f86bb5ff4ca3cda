#include "graphs/table_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/json.hpp"
#include "base/npy.hpp"

namespace dbench::graphs {
namespace {

constexpr size_t kMostNumbers = 1 << 28;

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
    throw base::UserError(path + ": " + problem);
}

// Returns the word that starts at `at`, of at most 40 characters, for messages.
std::string word_at(const char* at, const char* stop) {
    std::string word;
    while (at < stop && std::strchr(" \t\r,;", *at) == nullptr && word.size() < 40) word += *at++;
    for (char& c : word) {
        if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
    }
    return word;
}

// Reads the attributes of an edge as networkx writes them after its nodes, such as
// "{'weight': 0.3}": appends the weight to the row, and leaves out all other attributes.
void read_attributes(std::string_view text, std::vector<double>& row) {
    for (const char* key : {"'weight':", "\"weight\":"}) {
        const size_t found = text.find(key);
        if (found == text.npos) continue;
        const char* at = text.data() + found + std::strlen(key);
        const char* stop = text.data() + text.size();
        while (at < stop && *at == ' ') ++at;
        double value = 0;
        if (std::from_chars(at, stop, value).ec == std::errc() && std::isfinite(value)) {
            row.push_back(value);
        }
        return;
    }
}

// Throws UserError for a text that is plainly no table of numbers.
void refuse_other_formats(const std::string& content, const std::string& path) {
    const size_t first = content.find_first_not_of(" \t\r\n");
    if (first == content.npos || content[first] != '<') return;
    refuse(path,
           "is an XML file such as GraphML, which is not read: write a list of edges, in networkx "
           "by nx.write_weighted_edgelist(nx.convert_node_labels_to_integers(G), PATH), or "
           "nx.write_edgelist(..., data=False) if edges have no weights");
}

}  // namespace

std::vector<NumberTable> parse_npy(const std::string& content, const std::string& path) {
    base::NpyArray array = base::parse_npy(content, path, kMostNumbers);
    auto& shape = array.shape;
    if (shape.empty() || shape.size() > 3) {
        refuse(path,
               "a graph needs an array of two dimensions (a matrix or a list of edges), or of "
               "three (a matrix for each round)");
    }
    if (shape.size() == 1) shape.push_back(1);
    if (shape.size() == 2) shape.insert(shape.begin(), 1);
    const size_t tables = shape[0], rows = shape[1], columns = shape[2];
    const auto read = array.reader();
    std::vector<NumberTable> found(tables, NumberTable(rows, std::vector<double>(columns)));
    for (size_t t = 0; t < tables; ++t) {
        for (size_t i = 0; i < rows; ++i) {
            for (size_t j = 0; j < columns; ++j) {
                const size_t at = array.fortran_order ? (j * rows + i) * tables + t
                                                      : (t * rows + i) * columns + j;
                found[t][i][j] = read(array.data.data() + at * array.width());
                if (!std::isfinite(found[t][i][j])) {
                    refuse(path, (tables > 1 ? "round " + std::to_string(t) + ": " : "") + "row " +
                                     std::to_string(i) + " holds a number that is not finite");
                }
            }
        }
    }
    return found;
}

NumberTable parse_text(const std::string& content, const std::string& path,
                       const std::string& remedy) {
    NumberTable table;
    refuse_other_formats(content, path);
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
            if (*at == '{' && row.size() == 2) {
                read_attributes({at, stop}, row);
                break;
            }
            const char* word = at;
            if (*at == '+') ++at;
            double value = 0;
            const auto [next, error] = std::from_chars(at, stop, value);
            const bool ends = next == stop || std::strchr(" \t\r,;{", *next) != nullptr;
            if (error != std::errc() || !std::isfinite(value) || !ends) {
                refuse(path, "line " + std::to_string(line) + ": '" + word_at(word, stop) +
                                 "' is not a finite number (rows are numbers separated by blanks "
                                 "or commas, comments begin with #): " +
                                 remedy);
            }
            row.push_back(value);
            at = next;
        }
        if (!row.empty()) table.push_back(std::move(row));
        start = end + 1;
    }
    return table;
}

std::vector<NumberTable> read_tables(const std::string& path, const std::string& remedy,
                                     std::vector<base::InputDigest>* inputs) {
    const std::string content = base::read_text(path);
    const auto same_path = [&](const base::InputDigest& each) { return each.path == path; };
    if (inputs && std::none_of(inputs->begin(), inputs->end(), same_path)) {
        inputs->push_back(base::digest_of_file(path, content));
    }
    if (content.rfind("\x93NUMPY", 0) == 0) return parse_npy(content, path);
    return {parse_text(base::without_byte_order_mark(content, path), path, remedy)};
}

NumberTable read_numbers(const std::string& path, const std::string& remedy) {
    std::vector<NumberTable> tables = read_tables(path, remedy);
    if (tables.size() > 1) {
        refuse(path, "is an array of three dimensions: one of two dimensions is needed here");
    }
    return std::move(tables.front());
}

}  // namespace dbench::graphs
