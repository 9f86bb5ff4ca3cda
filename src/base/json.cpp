#include "base/json.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/input_file.hpp"

namespace dbench::base {
namespace {

// Returns at most 160 characters of a text.
std::string shortened(std::string text) {
    if (text.size() > 160) text = text.substr(0, 157) + "...";
    return text;
}

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

// Words that other programs use for a name of this program, both without separators.
constexpr std::pair<const char*, const char*> kSynonyms[] = {
    {"gpu", "cuda"},
    {"nvidia", "cuda"},
    {"host", "cpu"},
    {"fp32", "float32"},
    {"f32", "float32"},
    {"float", "float32"},
    {"single", "float32"},
    {"fp64", "float64"},
    {"f64", "float64"},
    {"double", "float64"},
    {"fp16", "float16"},
    {"f16", "float16"},
    {"half", "float16"},
    {"bf16", "bfloat16"},
    {"allreduce", "centralized"},
    {"ddp", "centralized"},
    {"centralised", "centralized"},
    {"dpsgd", "dsgd"},
    {"gossip", "dsgd"},
    {"decentralized", "dsgd"},
    {"qgm", "qgdsgdm"},
    {"quasiglobalmomentum", "qgdsgdm"},
    {"gt", "gradienttracking"},
    {"dsgt", "gradienttracking"},
    {"mt", "momentumtracking"},
    {"full", "complete"},
    {"fullyconnected", "complete"},
    {"clique", "complete"},
    {"cycle", "ring"},
    {"line", "path"},
    {"chain", "path"},
    {"mesh", "grid"},
    {"er", "erdosrenyi"},
    {"random", "erdosrenyi"},
    {"smallworld", "wattsstrogatz"},
    {"cube", "hypercube"},
    {"onepeer", "onepeerexponential"},
    {"iid", "shuffled"},
    {"noniid", "dirichlet"},
    {"false", "off"},
    {"none", "off"},
    {"never", "off"},
    {"true", "on"},
};

// Returns a word in lower case without its separators.
std::string plain_word(const std::string& word) {
    std::string out;
    for (const char c : word) {
        if (c != '_' && c != '-' && c != '.' && c != ' ') {
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return out;
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
        if (event == Json::parse_event_t::key && keys.back().size() >= kMaxKeys) {
            throw UserError(where + ": an object has more than " + std::to_string(kMaxKeys) +
                            " keys (no spec needs so many): use fewer");
        }
        if (event == Json::parse_event_t::key &&
            !keys.back().insert(value.get<std::string>()).second) {
            throw UserError(where + ": the key '" + shortened(value.get<std::string>()) +
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
                        std::to_string(column) + " (" + shortened(printable(reason)) + ")");
    } catch (const Json::out_of_range& error) {
        throw UserError(where + ": " + shortened(reason_of(error)) +
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

std::string read_text(const std::string& path, size_t most) {
    const bool in_gib = most % (size_t{1} << 30) == 0;
    const std::string too_large = "it is larger than " +
                                  std::to_string(most >> (in_gib ? 30 : 20)) +
                                  (in_gib ? " GiB" : " MiB");
    const auto refuse = [&](const std::string& problem) {
        throw UserError(path + ": cannot be read (" + problem +
                        "): check the path and its permissions");
    };
    std::string text;
    if (path == "/dev/stdin") {
        errno = 0;
        std::ifstream file(path, std::ios::binary);
        std::string piece(1 << 16, '\0');
        while (file && text.size() <= most) {
            file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
            text.append(piece, 0, static_cast<size_t>(file.gcount()));
        }
        if (!file.eof()) refuse(file ? too_large : std::string(std::strerror(errno ? errno : EIO)));
        return text;
    }
    const InputFile file(path);
    file.require();
    if (static_cast<size_t>(file.size()) > most) refuse(too_large);
    // Files of /proc and /sys have size 0, so reading goes on until the file ends.
    for (int64_t piece = file.size() + 1;; piece = 1 << 16) {
        const size_t before = text.size();
        text.resize(before + static_cast<size_t>(piece));
        const int64_t got = file.read(static_cast<int64_t>(before), piece, text.data() + before);
        text.resize(before + static_cast<size_t>(got));
        if (text.size() > most) refuse(too_large);
        if (got < piece) return text;
    }
}

Json read_json(const std::string& path) {
    return parse_json(without_byte_order_mark(read_text(path, kMaxJsonBytes), path), path);
}

std::string short_text(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
}

std::string suggest_name(const std::string& name, const std::vector<std::string>& names) {
    if (names.empty()) return "";
    const auto meant = [](const std::string& other) { return "; did you mean '" + other + "'?"; };
    const std::string wanted = plain_word(name.substr(0, 100));
    for (const auto& each : names) {
        if (plain_word(each) == wanted) return meant(each);
    }
    for (const auto& [word, synonym] : kSynonyms) {
        if (wanted != word) continue;
        for (const auto& each : names) {
            if (plain_word(each) == synonym) return meant(each);
        }
    }
    const std::string given = name.substr(0, 100);
    const auto distance = [&](const std::string& each) { return edit_distance(given, each); };
    const auto best =
        std::min_element(names.begin(), names.end(),
                         [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    const size_t least = distance(*best);
    // A name in which every letter differs is not similar, however short it is.
    const bool similar = least < std::max(given.size(), best->size());
    if (similar && least <= 1) return meant(*best);
    const std::string* begun = nullptr;  // the shortest name that begins with the given word
    for (const auto& each : names) {
        const bool begins = wanted.size() >= 3 && plain_word(each).starts_with(wanted);
        if (begins && (!begun || each.size() < begun->size())) begun = &each;
    }
    if (begun) return meant(*begun);
    if (similar && least <= std::max<size_t>(2, given.size() / 3)) return meant(*best);
    std::string list;
    for (const auto& each : names) list += (list.empty() ? "" : ", ") + each;
    return "; choose from: " + list;
}

}  // namespace dbench::base
