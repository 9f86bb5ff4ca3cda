#pragma once
// Generated least-squares problems whose solutions are known.

#include <cstdint>
#include <vector>

#include "base/json.hpp"

namespace dbench::data {

/// x*_i = common + heterogeneity * own_i of a resolved /data object of type regression (dimension
/// elements); both parts are standard normal. `replica` -1: the common part, which the test set
/// uses.
std::vector<double> regression_optimum(const base::Json& spec, uint64_t seed, int64_t replica);

}  // namespace dbench::data
