#pragma once
// Overriding one spec by another, key by key.

#include <string>

#include "base/json.hpp"

namespace dbench::bench {

/// `target` overridden by `patch`: objects key by key, everything else replaced. Where a family's
/// `type` changes, keys that the new type has not are dropped, with a notice; an implementation
/// replaces graph and algorithm, and these replace an implementation.
void merge_spec(base::Json& target, const base::Json& patch);

/// Applies "/graph/type=torus", or "graph.type=torus" alike: the value there is replaced by JSON
/// where the text parses, in a family's place by an object where it is "torus:KEY=VALUE:...", else
/// by a string. A changed `type` drops keys as above. Throws UserError.
void apply_setting(base::Json& target, const std::string& setting);

}  // namespace dbench::bench
