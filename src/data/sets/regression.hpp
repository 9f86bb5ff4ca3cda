#pragma once
// Generated least-squares problems with known solutions.

#include <cstdint>
#include <vector>

#include "base/section.hpp"

namespace dbench::data {

/// The keys of the data set regression.
struct RegressionSpec {
    int64_t samples;       ///< Training samples per replica.
    int64_t dimension;     ///< Number of features.
    double heterogeneity;  ///< How far the optimum of a replica is from the common one.
    double noise;          ///< Standard deviation of the targets' noise.
    double condition;      ///< Condition number of the features' covariance.
    int64_t test;          ///< Test samples, from the common optimum.

    static const base::Section<RegressionSpec>& section();
};

/// Returns x*_i = common + heterogeneity * own_i (dimension elements); both parts are standard
/// normal. `replica` -1: returns the common part, which the test set uses.
std::vector<double> regression_optimum(const RegressionSpec& spec, uint64_t seed, int64_t replica);

}  // namespace dbench::data
