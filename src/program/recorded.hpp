#pragma once
// What the result file of a run is going to hold.

#include <cstdint>

#include "profile/schema.hpp"
#include "program/setup.hpp"

namespace dbench::bench {

profile::Features features_of(const train::Session& session);

/// Bytes of the result file's rows before compression, without /graphs and what does not grow.
int64_t result_bytes(const Setup& setup);

}  // namespace dbench::bench
