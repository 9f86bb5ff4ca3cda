#pragma once
// Reading JSON: `//` comments are allowed, errors name line and column, duplicate keys are refused.

#include <cstddef>
#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dbench::base {

using Json = nlohmann::ordered_json;

/// Maximum nesting depth of objects and lists.
constexpr int kMaxDepth = 64;
/// Maximum number of keys of one object. The JSON library compares each key with all before it.
constexpr size_t kMaxKeys = 10000;

/// The largest JSON file (a spec) and the largest text file (a graph, for example), in bytes.
constexpr size_t kMaxJsonBytes = size_t{64} << 20;
constexpr size_t kMaxTextBytes = size_t{1} << 30;

/// Parses `text`; `where` names it in errors. Throws UserError with line and column if it is not
/// JSON, and UserError if it is nested too deeply or a number is too large.
Json parse_json(const std::string& text, const std::string& where);

/// Reads and parses a file. Throws UserError if it cannot be read or parsed.
Json read_json(const std::string& path);

/// Returns the whole file as text. Throws UserError if it cannot be read or is larger than `most`
/// bytes.
std::string read_text(const std::string& path, size_t most = kMaxTextBytes);

/// Returns a value as one line of at most 60 characters, for messages.
std::string short_text(const Json& value);

/// Returns the message of an exception of the JSON library, without its error number.
std::string reason_of(const std::exception& error);

/// Returns true if `text` is valid UTF-8, which JSON requires.
bool is_utf8(const std::string& text);

/// Returns "; did you mean 'x'?" for the most similar of `names`: equal without case and
/// separators, a common synonym ("gpu" for cuda), a beginning, or a small edit distance. If none is
/// similar, returns a list of all names.
std::string suggest_name(const std::string& name, const std::vector<std::string>& names);

}  // namespace dbench::base
