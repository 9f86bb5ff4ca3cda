#pragma once
// Lengths of time of a run, as specs give them.

#include <cstdint>

#include "base/json.hpp"

namespace dbench::base {

/// Whole iterations, rounded up, of {"epochs": x}, {"iterations": n} or {"samples": n}, where an
/// epoch has `per_epoch` iterations and an iteration `samples` samples over all replicas.
int64_t to_iterations(const Json& duration, int64_t per_epoch, int64_t samples);

}  // namespace dbench::base
