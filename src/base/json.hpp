#pragma once
// JSON as DBench reads it: `//` comments, errors with line and column, duplicate keys refused.

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dbench::base {

using Json = nlohmann::ordered_json;

/// Levels of objects and lists in each other that a text may have.
constexpr int kMostLevels = 64;

/// Parses `text`; `where` names it in errors. Throws UserError: with line and column where it is
/// not JSON; where it is nested too deeply, or a number is too large.
Json parse_json(const std::string& text, const std::string& where);

/// Reads and parses a file. Throws UserError where it cannot be read or parsed.
Json read_json(const std::string& path);

/// The whole file as text. Throws UserError.
std::string read_text(const std::string& path);

/// A value as one line, for messages.
std::string short_text(const Json& value);

/// What an error of the JSON library says, without its own numbering.
std::string reason_of(const std::exception& error);

/// Whether `text` is UTF-8, as JSON needs it.
bool is_utf8(const std::string& text);

/// "; did you mean 'x'?" for the nearest of `names` (edit distance), else the list of names.
std::string nearest(const std::string& name, const std::vector<std::string>& names);

}  // namespace dbench::base
