#include "algorithms/learning_rates/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace dbench::algorithms {
namespace {

double scaled(double lr, const RateScale& scale, int64_t global_batch) {
    const double ratio =
        static_cast<double>(global_batch) / static_cast<double>(scale.reference_batch);
    if (scale.rule == RateScale::Rule::linear) return lr * ratio;
    if (scale.rule == RateScale::Rule::sqrt) return lr * std::sqrt(ratio);
    return lr;
}

}  // namespace

LearningRate::LearningRate(const base::Json& schedule, double lr, const base::RunLength& run)
    : iterations_(run.iterations) {
    const ScheduleSpec common = ScheduleSpec::section().read(schedule);
    lr_ = scaled(lr, common.scale, run.samples_per_iteration);
    scales_ = common.scale.rule != RateScale::Rule::none;
    warmup_ = base::to_iterations(common.warmup, run);
    warmup_from_ = common.warmup_from;
    schedule_ = base::find_entry(schedule_table(), schedule.at("type").get<std::string>())
                    ->make(schedule, {lr_, warmup_, run});
}

double LearningRate::at(int64_t t) const {
    if (t >= warmup_) return schedule_->after_warmup(t);
    const double passed = static_cast<double>(t + 1) / static_cast<double>(warmup_);
    const double lr = lr_ * (warmup_from_ + (1 - warmup_from_) * passed);
    return lr * schedule_->warmup_factor(t);
}

std::vector<int64_t> LearningRate::monotone_intervals() const {
    std::vector<int64_t> starts = schedule_->turning_points();
    starts.insert(starts.end(), {0, warmup_});
    std::erase_if(starts, [&](int64_t t) { return t >= iterations_; });
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    starts.push_back(iterations_);
    return starts;
}

double LearningRate::largest() const {
    const auto starts = monotone_intervals();
    double most = 0;
    for (size_t k = 0; k + 1 < starts.size(); ++k) {
        most = std::max({most, at(starts[k]), at(starts[k + 1] - 1)});
    }
    return most;
}

int64_t LearningRate::first_zero() const {
    const auto starts = monotone_intervals();
    for (size_t k = 0; k + 1 < starts.size(); ++k) {
        int64_t positive = starts[k], zero = starts[k + 1] - 1;
        if (at(positive) <= 0) return positive;
        if (at(zero) > 0) continue;
        while (zero - positive > 1) {
            const int64_t middle = positive + (zero - positive) / 2;
            (at(middle) > 0 ? positive : zero) = middle;
        }
        return zero;
    }
    return -1;
}

std::vector<std::string> LearningRate::warnings() const {
    std::vector<std::string> all;
    if (warmup_ > iterations_) {
        all.push_back("/schedule/warmup: takes " + std::to_string(warmup_) +
                      " iterations, but the run has " + std::to_string(iterations_) +
                      ": the learning rate never reaches /optimizer/lr");
    }
    if (std::string text = schedule_->unreached(); !text.empty()) all.push_back(std::move(text));
    return all;
}

}  // namespace dbench::algorithms
