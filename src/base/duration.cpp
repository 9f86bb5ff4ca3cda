#include "base/duration.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace dbench::base {

Duration to_duration(const Json& spec) {
    const std::string unit = spec.begin().key();
    const auto amount = spec.begin()->get<double>();
    if (unit == "epochs") return {Duration::Unit::epochs, amount};
    return {unit == "samples" ? Duration::Unit::samples : Duration::Unit::iterations, amount};
}

int64_t to_iterations(const Duration& duration, const RunLength& run) {
    double iterations = duration.amount;
    if (duration.unit == Duration::Unit::epochs) iterations *= static_cast<double>(run.per_epoch);
    if (duration.unit == Duration::Unit::samples) {
        iterations /= static_cast<double>(run.samples_per_iteration);
    }
    // Rounding can put a product such as 1.1 * 50 just above the intended whole number.
    const double nearest = std::round(iterations);
    const bool meant = std::abs(iterations - nearest) <= 1e-12 * iterations;
    const double whole = meant ? nearest : std::ceil(iterations);
    constexpr double kMost = 1e15;  // Keeps absurd lengths inside an integer.
    return static_cast<int64_t>(std::min(whole, kMost));
}

int64_t to_iterations(const Json& spec, const RunLength& run) {
    return to_iterations(to_duration(spec), run);
}

}  // namespace dbench::base
