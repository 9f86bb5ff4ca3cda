#pragma once
// Overrides one spec by another, key by key, and applies --set.

#include <string>

#include "base/json.hpp"

namespace dbench::program {

/// Overrides `target` by `patch`: merges objects key by key and replaces every other value. If the
/// `type` of a family member changes, drops the keys that the new type does not have and prints a
/// notice. An implementation replaces graph and algorithm, and either of these replaces an
/// implementation.
void merge_spec(base::Json& target, const base::Json& patch);

/// Applies one --set argument: "/graph/type=torus" or, equally, "graph.type=torus". The value is
/// JSON if the text parses as JSON; an object if the key holds a family member and the text is
/// "torus:KEY=VALUE:..."; otherwise a string. A changed `type` drops keys as merge_spec does.
/// Throws UserError.
void apply_setting(base::Json& target, const std::string& setting);

}  // namespace dbench::program
