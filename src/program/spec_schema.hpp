#pragma once
// The spec as a JSON Schema, so that editors complete keys and underline mistakes.

#include "base/json.hpp"

namespace dbench::bench {

/// JSON Schema, draft 2020-12, of a spec file, made from the tables that the spec is read by. It
/// accepts every valid spec; what depends on more than one key is left to `dbench check`.
base::Json spec_schema();

}  // namespace dbench::bench
