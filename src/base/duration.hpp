#pragma once
// Lengths of time in a run, as specs write them.

#include <cstdint>

#include "base/json.hpp"
#include "base/run_length.hpp"

namespace dbench::base {

/// A duration {"epochs": x}, {"iterations": n} or {"samples": n}. Samples are counted over all
/// replicas.
struct Duration {
    enum class Unit : uint8_t { epochs, iterations, samples };
    Unit unit = Unit::iterations;
    double amount = 0;
};

/// Converts a value that Parameter::duration has checked.
Duration to_duration(const Json& spec);

/// Converts a duration to whole iterations, rounded up; at most 1e15.
int64_t to_iterations(const Duration& duration, const RunLength& run);
int64_t to_iterations(const Json& spec, const RunLength& run);

}  // namespace dbench::base
