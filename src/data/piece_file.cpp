#include "data/piece_file.hpp"

#include <charconv>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/input_file.hpp"
#include "data/files.hpp"

namespace dbench::data {
namespace {

constexpr std::string_view kHead = "dbench byte pairs, ";
constexpr const char* kRemedy = ": make it again with `dbench data pieces`";
constexpr int64_t kMostBytes = int64_t{1} << 30;

std::string head_of(int64_t pieces, const std::string& merges) {
    return std::string(kHead) + std::to_string(pieces) + " pieces, " + digest(merges) + "\n";
}

[[noreturn]] void fail_piece_file(const std::string& path, const std::string& why) {
    throw base::UserError(path + ": " + why + kRemedy);
}

/// Parses a line "LEFT RIGHT". Returns false if it is malformed.
bool read_pair(const std::string& line, BytePairs::Pair& out) {
    const char* const end = line.data() + line.size();
    const auto left = std::from_chars(line.data(), end, out.first);
    if (left.ec != std::errc() || left.ptr == end || *left.ptr != ' ') return false;
    const auto right = std::from_chars(left.ptr + 1, end, out.second);
    return right.ec == std::errc() && right.ptr == end;
}

}  // namespace

void write_pieces(const BytePairs& pieces, const std::string& path) {
    const std::string merges = pieces.text();
    base::replace_file("the pieces", path, head_of(pieces.size(), merges) + merges);
}

bool holds_pieces(const std::string& path) {
    constexpr size_t kMark = 3;  // Bytes of a byte order mark.
    const base::InputFile file(path);
    file.require();
    std::string begin(kMark + kHead.size(), '\0');
    begin.resize(static_cast<size_t>(file.read(0, std::ssize(begin), begin.data())));
    return base::without_byte_order_mark(begin, path).starts_with(kHead);
}

BytePairs read_pieces(const std::string& path) {
    const DataFile file = read_data_file(path, kMostBytes, "`dbench data pieces`");
    const std::string text = text_of(file);
    if (!text.starts_with(kHead)) fail_piece_file(path, "is not a file of byte pairs");
    const size_t begin = text.find('\n') + 1;  // 0 if there is none.
    const std::string merges = begin > 0 ? text.substr(begin) : "";
    std::vector<BytePairs::Pair> pairs;
    std::istringstream in(merges);
    for (std::string line; std::getline(in, line);) {
        BytePairs::Pair pair;
        if (!read_pair(line, pair))
            fail_piece_file(path, "is damaged (not a pair of numbers: " + line + ")");
        pairs.push_back(pair);
    }
    const auto pieces = BytePairs::kMerged + static_cast<int64_t>(pairs.size());
    if (text != head_of(pieces, merges) + merges) {
        fail_piece_file(path, "is damaged or was changed (its first line does not match the rest)");
    }
    if (const std::string why = BytePairs::problem(pairs); !why.empty()) fail_piece_file(path, why);
    return BytePairs(pairs);
}

}  // namespace dbench::data
