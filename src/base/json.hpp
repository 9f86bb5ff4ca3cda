#pragma once
// Reading JSON: `//` comments are allowed, errors name line and column, duplicate keys are refused.

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dbench::base {

using Json = nlohmann::ordered_json;

/// Maximum nesting depth of objects and lists.
constexpr int kMaxDepth = 64;

/// Parses `text`; `where` names it in errors. Throws UserError with line and column if it is not
/// JSON, and UserError if it is nested too deeply or a number is too large.
Json parse_json(const std::string& text, const std::string& where);

/// Reads and parses a file. Throws UserError if it cannot be read or parsed.
Json read_json(const std::string& path);

/// Returns the whole file as text. Throws UserError.
std::string read_text(const std::string& path);

/// Returns a value as one line of at most 60 characters, for messages.
std::string short_text(const Json& value);

/// Returns the message of an exception of the JSON library, without its error number.
std::string reason_of(const std::exception& error);

/// Returns true if `text` is valid UTF-8, which JSON requires.
bool is_utf8(const std::string& text);

/// Returns "; did you mean 'x'?" for the most similar of `names` (edit distance). If none is
/// similar, returns a list of all names.
std::string suggest_name(const std::string& name, const std::vector<std::string>& names);

}  // namespace dbench::base
