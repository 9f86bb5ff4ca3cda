#pragma once
// An empirical distribution of durations: equally spaced quantiles, between which it is linear.

#include <vector>

#include "base/json.hpp"

namespace dbench::predict {

/// A distribution of seconds. It is made of measured samples, so that it has their skew and their
/// tail; a normal distribution would have neither.
class Distribution {
public:
    Distribution() : Distribution(0.0) {}
    /// All mass is at `seconds`.
    explicit Distribution(double seconds) : quantiles_{seconds} {}
    /// Keeps the samples (at least one), or 1001 quantiles of them if there are more.
    static Distribution of_samples(std::vector<double> samples);
    /// Reads the list of quantiles that `to_json` wrote. Throws UserError that begins with `where`.
    static Distribution from_json(const base::Json& quantiles, const std::string& where);

    /// Returns the quantile of u, 0 <= u <= 1.
    double at(double u) const;
    double mean() const;
    double variance() const;
    /// Returns the distribution of `factor` times these seconds.
    Distribution scaled(double factor) const;
    /// Returns the distribution whose distances from `center` are `factor` times as long.
    Distribution narrowed(double center, double factor) const;
    base::Json to_json() const;

private:
    std::vector<double> quantiles_;  // The quantiles of 0, 1/m, ..., 1; ascending.
};

}  // namespace dbench::predict
