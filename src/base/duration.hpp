#pragma once
// Lengths of time of a run, as specs give them.

#include <cstdint>

#include "base/json.hpp"
#include "base/run_length.hpp"

namespace dbench::base {

/// {"epochs": x}, {"iterations": n} or {"samples": n}; samples are counted over all replicas.
struct Duration {
    enum class Unit : uint8_t { epochs, iterations, samples };
    Unit unit = Unit::iterations;
    double amount = 0;
};

/// Of a checked value (`Parameter::duration`).
Duration to_duration(const Json& spec);

/// Whole iterations, rounded up; never more than 1e15.
int64_t to_iterations(const Duration& duration, const RunLength& run);
int64_t to_iterations(const Json& spec, const RunLength& run);

}  // namespace dbench::base
