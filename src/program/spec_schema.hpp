#pragma once
// The spec format as a JSON Schema, so that editors can complete keys and mark mistakes.

#include "base/json.hpp"

namespace dbench::program {

/// Returns a JSON Schema (draft 2020-12) of spec files, generated from the tables that the spec
/// reader uses. It accepts every valid spec. Rules between several keys are not part of it;
/// `dbench check` tests them.
base::Json spec_schema();

}  // namespace dbench::program
