#pragma once
// Compares a result file with the synthetic run that it should hold.

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "arena/sums/dispersion.hpp"
#include "profile/result_reader.hpp"
#include "profile/synthetic_run.hpp"

namespace dbench::profile::tests {

/// Collects the first difference of each data set; `text` is empty if there are none.
class Differences {
public:
    Differences(const SyntheticRun& run, const ResultReader& file) : run_(run), file_(file) {}

    /// Compares the first `rows` rows of a data set with expected(row, column). `real`: values are
    /// rounded to the run's precision.
    void compare(const std::string& name, int64_t rows, int64_t width,
                 const std::function<double(int64_t, int64_t)>& expected, bool real = false) {
        const std::vector<double> found = file_.numbers(name);
        if (found.size() < static_cast<size_t>(rows * width)) {
            text += name + ": " + std::to_string(found.size()) + " values\n";
            return;
        }
        const bool narrow = real && run_.precision == arena::DType::float32;
        for (int64_t at = 0; at < rows * width; ++at) {
            double value = expected(at / width, at % width);
            if (narrow) value = static_cast<float>(value);
            const double there = found[static_cast<size_t>(at)];
            if (there == value || (std::isnan(there) && std::isnan(value))) continue;
            text += name + "[" + std::to_string(at / width) + "," + std::to_string(at % width) +
                    "]: " + std::to_string(there) + " is not " + std::to_string(value) + "\n";
            return;
        }
    }

    std::string text;

private:
    const SyntheticRun& run_;
    const ResultReader& file_;
};

inline int64_t rows_of(const ResultReader& file, const std::string& name) {
    return static_cast<int64_t>(file.shape(name)[0]);
}

inline void compare_iterations(Differences& d, const SyntheticRun& run, int64_t rows, int ranks) {
    const auto bad = [&](int64_t t) { return t >= run.nan_from; };
    const std::string in = "/iterations/";
    const int64_t n = run.replicas;
    d.compare(in + "iteration", rows, 1, [](int64_t t, int64_t) { return t; });
    d.compare(in + "epoch", rows, 1, [](int64_t t, int64_t) { return (t + 1) / 8.0; });
    d.compare(in + "lr", rows, 1, [](int64_t t, int64_t) { return 0.1 / (t + 1); });
    d.compare(
        in + "train_loss", rows, n,
        [&](int64_t t, int64_t i) { return bad(t) ? NAN : run.loss(t, i); }, true);
    d.compare(in + "train_accuracy", rows, n, run.accuracy);
    const auto averaged = [&](int64_t t) { return run.schedule && t != 3; };
    d.compare(in + "rounds", rows, 1, [&](int64_t t, int64_t) { return averaged(t); });
    d.compare(in + "degree", rows, 1, [&](int64_t t, int64_t) { return averaged(t); });
    d.compare(in + "messages", rows, 1, [&](int64_t t, int64_t) { return averaged(t) * n; });
    d.compare(in + "bytes_sent", rows, 1, [&](int64_t t, int64_t) { return averaged(t) * n * 40; });
    const char* parts[] = {"step_time",     "time_data",    "time_gradient", "time_update",
                           "time_exchange", "time_profile", "time_delay"};
    for (int part = 0; part < 7; ++part) {
        d.compare(in + parts[part], rows, ranks, [&](int64_t t, int64_t rank) {
            return run.time(t, static_cast<int>(rank), part);
        });
    }
    d.compare(in + "profile_bytes", rows, 1,
              [&](int64_t t, int64_t) { return ranks * (100.0 + static_cast<double>(t)); });
}

inline void compare_norms(Differences& d, const SyntheticRun& run, int64_t rows) {
    const auto bad = [&](int64_t j) { return j * run.every >= run.nan_from; };
    const std::string in = "/parameters/";
    const int64_t n = run.replicas, T = run.tensors, every = run.every;
    const auto norm = [&](int64_t j, int64_t i, int64_t k) {
        return bad(j) ? NAN : run.norm(j * every, i, k);
    };
    d.compare(in + "iteration", rows, 1, [&](int64_t j, int64_t) { return j * every; });
    d.compare(
        in + "norm", rows, n * T, [&](int64_t j, int64_t at) { return norm(j, at / T, at % T); },
        true);
    d.compare(
        in + "update_norm", rows, n,
        [&](int64_t j, int64_t i) { return run.update_norm(j * every, i); }, true);
    d.compare(
        in + "gradient_norm", rows, n,
        [&](int64_t j, int64_t i) { return run.gradient_norm(j * every, i); }, true);
    const auto measure = [&](double arena::Dispersion::*which) {
        return [&, which](int64_t j, int64_t k) {
            std::vector<double> norms;
            for (int64_t i = 0; i < n; ++i) {
                // Measures are computed from the recorded values.
                const double value = norm(j, i, k);
                norms.push_back(run.precision == arena::DType::float32 ? static_cast<float>(value)
                                                                       : value);
            }
            return arena::dispersion(norms).*which;
        };
    };
    d.compare(in + "gini", rows, T, measure(&arena::Dispersion::gini));
    d.compare(in + "index_of_dispersion", rows, T,
              measure(&arena::Dispersion::index_of_dispersion));
    d.compare(in + "coefficient_of_variation", rows, T,
              measure(&arena::Dispersion::coefficient_of_variation));
    d.compare(in + "quartile_coefficient", rows, T,
              measure(&arena::Dispersion::quartile_coefficient));
}

inline void compare_variance(Differences& d, const SyntheticRun& run, int64_t rows) {
    const std::string in = "/parameters/";
    const int64_t every = run.variance_every;
    d.compare(in + "variance_iteration", rows, 1, [&](int64_t q, int64_t) { return q * every; });
    d.compare(in + "variance", rows, run.tensors, [&](int64_t q, int64_t k) {
        return q * every >= run.nan_from ? INFINITY : run.variance_of(q * every, k);
    });
    d.compare(in + "consensus_distance", rows, 1,
              [&](int64_t q, int64_t) { return 1 + q * every; });
    if (!run.after) return;
    d.compare(in + "variance_after", rows, run.tensors,
              [&](int64_t q, int64_t k) { return run.variance_of(q * every, k) / 2; });
    d.compare(in + "consensus_distance_after", rows, 1,
              [&](int64_t q, int64_t) { return 0.5 + q * every; });
}

/// Compares all rows of the file of a run that may not be complete. Returns the differences, "" if
/// there are none. Columns of a group may differ in length by the rows that were being written.
inline std::string rows_differ(const SyntheticRun& run, const ResultReader& file, int ranks) {
    Differences d(run, file);
    int64_t rows = run.iterations;
    for (const char* name :
         {"iteration", "train_loss", "step_time", "profile_bytes", "lr", "epoch", "train_accuracy",
          "rounds", "degree", "messages", "bytes_sent", "time_data", "time_gradient", "time_update",
          "time_exchange", "time_profile", "time_delay"}) {
        rows = std::min(rows, rows_of(file, std::string("/iterations/") + name));
    }
    compare_iterations(d, run, rows, ranks);
    if (run.norms) {
        rows = rows_of(file, "/parameters/iteration");
        for (const char* name : {"norm", "gini", "index_of_dispersion", "coefficient_of_variation",
                                 "quartile_coefficient", "update_norm", "gradient_norm"}) {
            rows = std::min(rows, rows_of(file, std::string("/parameters/") + name));
        }
        compare_norms(d, run, rows);
    }
    if (run.variance) {
        rows = std::min(rows_of(file, "/parameters/variance_iteration"),
                        rows_of(file, "/parameters/variance"));
        rows = std::min(rows, rows_of(file, "/parameters/consensus_distance"));
        if (run.after) {
            rows = std::min({rows, rows_of(file, "/parameters/variance_after"),
                             rows_of(file, "/parameters/consensus_distance_after")});
        }
        compare_variance(d, run, rows);
    }
    return d.text;
}

}  // namespace dbench::profile::tests
