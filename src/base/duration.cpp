#include "base/duration.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace dbench::base {

int64_t to_iterations(const Json& duration, int64_t per_epoch, int64_t samples) {
    const std::string unit = duration.begin().key();
    double iterations = duration.begin()->get<double>();
    if (unit == "epochs") iterations *= static_cast<double>(per_epoch);
    if (unit == "samples") iterations /= static_cast<double>(samples);
    // A product such as 1.1 * 50 lies just above the whole number that is meant.
    const double whole = std::ceil(iterations * (1 - 1e-12));
    constexpr double kMost = 1e15;  // keeps absurd lengths inside an integer
    return static_cast<int64_t>(std::min(whole, kMost));
}

}  // namespace dbench::base
