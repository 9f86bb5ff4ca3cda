#pragma once
// Parses values and members of families (graphs, algorithms, ...) as they are written on the
// command line.

#include <string>

#include "base/family.hpp"
#include "base/json.hpp"

namespace dbench::program {

/// Returns `text` parsed as JSON, or as a string if it is not valid JSON, or if all values of `key`
/// (null: unknown) are strings: a name such as 007 then stays a string. `where` names the value in
/// errors.
base::Json parse_value(const std::string& text, const base::Parameter* key,
                       const std::string& where);

/// Like parse_value, for a key of a member of the family `plural`.
base::Json parse_member_key(const std::string& plural, const std::string& type,
                            const std::string& key, const std::string& text);

/// Converts TYPE:KEY=VALUE:KEY=VALUE to the object that a spec would hold for a member of the
/// family `plural`. Throws UserError if a part is not KEY=VALUE.
base::Json parse_member(const std::string& words, const std::string& plural);

/// Sets the key `gpus_per_node` of a graph whose type has it, unless the graph sets it, or
/// `gpus_per_node` is 0.
void add_gpus_per_node(base::Json& graph, int gpus_per_node);

}  // namespace dbench::program
