#pragma once
// JSON as DBench reads it: `//` comments, errors with line and column, duplicate keys refused.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dbench::base {

using Json = nlohmann::ordered_json;

/// Parses `text`; `where` names it in errors. Throws UserError with line and column.
Json parse_json(const std::string& text, const std::string& where);

/// Reads and parses a file. Throws UserError where it cannot be read or parsed.
Json read_json(const std::string& path);

/// The whole file as text. Throws UserError.
std::string read_text(const std::string& path);

/// A value as one line, for messages.
std::string short_text(const Json& value);

/// "; did you mean 'x'?" for the nearest of `names` (edit distance), else the list of names.
std::string nearest(const std::string& name, const std::vector<std::string>& names);

}  // namespace dbench::base
