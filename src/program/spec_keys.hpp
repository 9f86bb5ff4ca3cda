#pragma once
// Finds the declaration of a key anywhere in a spec, and the key that a user may have meant.

#include <optional>
#include <string>
#include <vector>

#include "base/family.hpp"
#include "base/json.hpp"
#include "program/spec_tables.hpp"

namespace dbench::program {

/// Splits a JSON pointer ("/graph/k") into its keys.
std::vector<std::string> keys_of(const std::string& pointer);

/// Returns the declaration of the key at `pointer`; `spec` says which types its families have.
/// Empty if no key is declared there.
std::optional<base::Parameter> parameter_at(const base::Json& spec, const std::string& pointer);

/// Returns the family whose members stand at `pointer`, also inside another member (/graph/graph);
/// null if there is none.
const Family* family_in(const base::Json& spec, const std::string& pointer);

/// Returns true if an object has either of the two keys, but not both: units of a duration, or of
/// a batch size.
bool are_alternatives(const std::string& a, const std::string& b);

/// Returns the end of a message about an unknown key in the object at `pointer`, which knows the
/// keys `names`: the places in the whole spec where a key of this name, or of the same meaning,
/// belongs, or else the most similar name ("; did you mean '/optimizer/lr'?").
std::string suggest_key(const base::Json& spec, const std::string& pointer, const std::string& key,
                        const std::vector<std::string>& names);

}  // namespace dbench::program
