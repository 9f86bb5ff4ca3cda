#pragma once
// The learning rate of a run: a schedule with warm-up and scaling by the global batch. The training
// loop asks for the rate of each iteration.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/learning_rates/schedule.hpp"
#include "base/json.hpp"
#include "base/run_length.hpp"

namespace dbench::algorithms {

/// The learning rate as a function of the iteration (docs/numerics.md).
class LearningRate {
public:
    /// `schedule` is the resolved /schedule of the spec; `lr` is the rate before scaling.
    LearningRate(const base::Json& schedule, double lr, const base::RunLength& run);
    /// Returns the learning rate of iteration t.
    double at(int64_t t) const;
    double base() const { return lr_; }      ///< After scaling.
    bool scales() const { return scales_; }  ///< The rate depends on the global batch.
    double largest() const;                  ///< Maximum over the run.
    /// Returns the first iteration with rate 0; -1 if there is none.
    int64_t first_zero() const;
    /// Returns warnings about a warm-up or a schedule that the run ends before.
    std::vector<std::string> warnings() const;

private:
    /// Returns the first iterations of the intervals in which the rate only rises or only falls,
    /// and the run's end.
    std::vector<int64_t> monotone_intervals() const;

    double lr_, warmup_from_;
    int64_t warmup_, iterations_;
    bool scales_;
    std::unique_ptr<RateSchedule> schedule_;
};

}  // namespace dbench::algorithms
