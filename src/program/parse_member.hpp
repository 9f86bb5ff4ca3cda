#pragma once
// Parses members of families (graphs, algorithms, ...) as they are written on the command line.

#include <string>

#include "base/json.hpp"

namespace dbench::program {

/// Returns `text` parsed as JSON, or as a string if it is not valid JSON.
base::Json parse_value(const std::string& text);

/// Converts TYPE:KEY=VALUE:KEY=VALUE to the object that a spec would hold. Throws UserError if a
/// part is not KEY=VALUE.
base::Json parse_member(const std::string& words);

}  // namespace dbench::program
