#pragma once
// Generated least-squares problems with known solutions.

#include <cstdint>
#include <vector>

#include "base/json.hpp"

namespace dbench::data {

/// Returns x*_i = common + heterogeneity * own_i (dimension elements) for a resolved /data object
/// of type regression; both parts are standard normal. `replica` -1: returns the common part, which
/// the test set uses.
std::vector<double> regression_optimum(const base::Json& spec, uint64_t seed, int64_t replica);

}  // namespace dbench::data
