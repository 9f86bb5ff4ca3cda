#include "base/json.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/input_file.hpp"

namespace dbench::base {
namespace {

constexpr uintmax_t kMaxTextBytes = uintmax_t{1} << 30;  // Bytes of a spec or of a graph file.
constexpr const char* kTooLarge = "it is larger than 1 GiB";

size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

/// Replaces each byte that is not ASCII by a question mark, because invalid UTF-8 must not be
/// printed.
std::string printable(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c >= 128; }, '?');
    return text;
}

}  // namespace

Json parse_json(const std::string& text, const std::string& where) {
    std::vector<std::set<std::string>> keys;
    const auto refuse = [&](int level, Json::parse_event_t event, Json& value) {
        const bool opens =
            event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
        if (opens && level >= kMaxDepth) {
            throw UserError(where + ": more than " + std::to_string(kMaxDepth) +
                            " nested objects and lists (no spec needs so many): "
                            "look for brackets that are never closed");
        }
        if (value.is_string() &&
            value.get_ref<const std::string&>().find('\0') != std::string::npos) {
            throw UserError(where +
                            ": a string contains the character \\u0000 (names and paths "
                            "cannot): remove it");
        }
        if (event == Json::parse_event_t::object_start) keys.emplace_back();
        if (event == Json::parse_event_t::object_end) keys.pop_back();
        if (event == Json::parse_event_t::key &&
            !keys.back().insert(value.get<std::string>()).second) {
            throw UserError(where + ": the key '" + value.get<std::string>() +
                            "' appears twice in one object (only one can be used): remove one");
        }
        return true;
    };
    try {
        return Json::parse(text, refuse, true, true);
    } catch (const Json::parse_error& error) {
        const size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
        const size_t line = 1 + std::count(text.begin(), text.begin() + at, '\n');
        const size_t last_break = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
        const size_t column = last_break == std::string::npos ? at + 1 : at - last_break;
        std::string reason = error.what();
        if (const size_t colon = reason.find(": "); colon != std::string::npos) {
            reason = reason.substr(colon + 2);
        }
        throw UserError(where + ": not valid JSON at line " + std::to_string(line) + ", column " +
                        std::to_string(column) + " (" + printable(reason) + ")");
    } catch (const Json::out_of_range& error) {
        throw UserError(where + ": " + reason_of(error) +
                        " (the largest number is 1.8e308): write a smaller one");
    }
}

std::string reason_of(const std::exception& error) {
    const std::string text = error.what();
    if (!text.starts_with("[json.exception")) return text;
    const size_t end = text.find("] ");
    return end == std::string::npos ? text : text.substr(end + 2);
}

bool is_utf8(const std::string& text) {
    try {
        Json(text).dump();
        return true;
    } catch (const Json::type_error&) {
        return false;
    }
}

std::string read_text(const std::string& path) {
    const auto refuse = [&](const std::string& problem) {
        throw UserError(path + ": cannot be read (" + problem +
                        "): check the path and its permissions");
    };
    std::string text;
    if (path == "/dev/stdin") {
        errno = 0;
        std::ifstream file(path, std::ios::binary);
        std::string piece(1 << 16, '\0');
        while (file && text.size() <= kMaxTextBytes) {
            file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
            text.append(piece, 0, static_cast<size_t>(file.gcount()));
        }
        if (!file.eof()) refuse(file ? kTooLarge : std::strerror(errno ? errno : EIO));
        return text;
    }
    const InputFile file(path);
    file.require();
    if (static_cast<uintmax_t>(file.size()) > kMaxTextBytes) refuse(kTooLarge);
    // Files of /proc and /sys have size 0, so reading goes on until the file ends.
    for (int64_t piece = file.size() + 1;; piece = 1 << 16) {
        const size_t before = text.size();
        text.resize(before + static_cast<size_t>(piece));
        const int64_t got = file.read(static_cast<int64_t>(before), piece, text.data() + before);
        text.resize(before + static_cast<size_t>(got));
        if (text.size() > kMaxTextBytes) refuse(kTooLarge);
        if (got < piece) return text;
    }
}

Json read_json(const std::string& path) { return parse_json(read_plain_text(path), path); }

std::string short_text(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
}

std::string suggest_name(const std::string& name, const std::vector<std::string>& names) {
    if (names.empty()) return "";
    const auto best =
        std::min_element(names.begin(), names.end(), [&](const auto& a, const auto& b) {
            return edit_distance(name, a) < edit_distance(name, b);
        });
    if (edit_distance(name, *best) <= std::max<size_t>(2, name.size() / 3)) {
        return "; did you mean '" + *best + "'?";
    }
    std::string list;
    for (const auto& each : names) list += (list.empty() ? "" : ", ") + each;
    return "; choose from: " + list;
}

}  // namespace dbench::base
