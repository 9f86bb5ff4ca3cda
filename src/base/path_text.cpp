#include "base/path_text.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/error.hpp"

namespace dbench::base {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Returns the first {word} of the text that is not one of `known`, or "".
std::string unknown_placeholder(const std::string& text, const std::vector<std::string>& known) {
    for (size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1)) {
        size_t end = open + 1;
        while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
        if (end == open + 1 || end == text.size() || text[end] != '}') continue;
        const std::string word = text.substr(open + 1, end - open - 1);
        if (std::find(known.begin(), known.end(), word) == known.end()) return "{" + word + "}";
    }
    return "";
}

// Returns the first $NAME or ${NAME} of the text, or "".
std::string variable_in(const std::string& text) {
    for (size_t at = text.find('$'); at != text.npos; at = text.find('$', at + 1)) {
        const bool braces = at + 1 < text.size() && text[at + 1] == '{';
        const size_t first = at + (braces ? 2 : 1);
        size_t end = first;
        while (end < text.size() && is_word(text[end])) ++end;
        if (end > first) return text.substr(at, end - at) + (braces ? "}" : "");
    }
    return "";
}

}  // namespace

void check_path_text(const std::string& path, const std::string& where,
                     const std::vector<std::string>& known) {
    const std::string variable = variable_in(path);
    const std::string placeholder = unknown_placeholder(path, known);
    const bool home = path.starts_with("~");
    if (!home && variable.empty() && placeholder.empty()) return;
    if (::access(path.c_str(), F_OK) == 0) return;
    const std::string shown = path.size() > 200 ? path.substr(0, 197) + "..." : path;
    const auto refuse = [&](const std::string& problem) {
        throw UserError(where + ": " + shown + " " + problem);
    };
    if (home) {
        refuse(
            "begins with ~, which only a shell replaces by your home folder: write the whole "
            "path (./~ for a name that begins with ~)");
    }
    if (!variable.empty()) {
        refuse("contains " + variable +
               ", which only a shell replaces by the variable's value: write the value, or give "
               "the key by --set in double quotes");
    }
    std::string list;
    for (const auto& word : known) list += (list.empty() ? "{" : ", {") + word + "}";
    refuse("contains " + placeholder + ", which stands for nothing here: " +
           (known.empty() ? "write the name itself" : "known is " + list));
}

}  // namespace dbench::base
