#include "predict/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/quantile.hpp"

namespace dbench::predict {

namespace {
constexpr size_t kMostIntervals = 1000;
}

Distribution Distribution::of_samples(std::vector<double> samples) {
    DBENCH_EXPECT(!samples.empty());
    std::sort(samples.begin(), samples.end());
    Distribution result;
    result.quantiles_.clear();
    const size_t intervals = std::clamp<size_t>(samples.size() - 1, 1, kMostIntervals);
    for (size_t k = 0; k <= intervals; ++k) {
        const double u = static_cast<double>(k) / static_cast<double>(intervals);
        result.quantiles_.push_back(base::quantile(samples, u));
    }
    return result;
}

Distribution Distribution::from_json(const base::Json& quantiles, const std::string& where) {
    Distribution result;
    result.quantiles_.clear();
    const bool list = quantiles.is_array() && !quantiles.empty();
    for (const base::Json& each : list ? quantiles : base::Json::array()) {
        const double value = each.is_number() ? each.get<double>() : -1;
        const double least = result.quantiles_.empty() ? 0 : result.quantiles_.back();
        if (!(value >= least) || !std::isfinite(value)) {
            throw base::UserError(where + ": " + base::short_text(each) +
                                  " is not a quantile (they are seconds in ascending order): "
                                  "measure again with dbench calibrate");
        }
        result.quantiles_.push_back(value);
    }
    if (!list) {
        throw base::UserError(where +
                              ": is no list of quantiles: measure again with dbench calibrate");
    }
    return result;
}

double Distribution::at(double u) const { return base::quantile(quantiles_, u); }

double Distribution::mean() const {
    if (quantiles_.size() == 1) return quantiles_.front();
    double sum = 0;
    for (size_t k = 1; k < quantiles_.size(); ++k) sum += (quantiles_[k - 1] + quantiles_[k]) / 2;
    return sum / static_cast<double>(quantiles_.size() - 1);
}

double Distribution::variance() const {
    if (quantiles_.size() == 1) return 0;
    const double center = mean();
    double sum = 0;
    for (size_t k = 1; k < quantiles_.size(); ++k) {
        // The second moment of a uniform distribution between a and b is (a^2 + a b + b^2) / 3.
        const double a = quantiles_[k - 1] - center, b = quantiles_[k] - center;
        sum += (a * a + a * b + b * b) / 3;
    }
    return sum / static_cast<double>(quantiles_.size() - 1);
}

Distribution Distribution::scaled(double factor) const {
    Distribution result = *this;
    for (double& each : result.quantiles_) each *= factor;
    return result;
}

Distribution Distribution::narrowed(double center, double factor) const {
    Distribution result = *this;
    for (double& each : result.quantiles_) each = center + factor * (each - center);
    return result;
}

base::Json Distribution::to_json() const { return quantiles_; }

}  // namespace dbench::predict
