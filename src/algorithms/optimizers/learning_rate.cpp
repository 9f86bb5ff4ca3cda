// The learning rate over a run: the spec's /schedule.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "algorithms/optimizers/optimizer.hpp"
#include "base/duration.hpp"
#include "base/error.hpp"
#include "base/section.hpp"

namespace dbench::algorithms {
namespace {

using base::Parameter;

/// The rule by which the rate grows with the global batch.
struct RateScale {
    enum class Rule : uint8_t { none, linear, sqrt } rule;
    int64_t reference_batch;

    static const base::Section<RateScale>& section() {
        static const base::Section<RateScale> keys{
            {base::Words<Rule>(
                 "rule", {{"none", Rule::none}, {"linear", Rule::linear}, {"sqrt", Rule::sqrt}},
                 Rule::none, "growth of the rate with the global batch"),
             &RateScale::rule},
            {Parameter::integer("reference_batch", "256", "global batch for which lr is specified")
                 .at_least(1),
             &RateScale::reference_batch},
        };
        return keys;
    }
};

/// The keys that all schedules accept.
struct ScheduleSpec {
    base::Duration warmup;
    double warmup_from;
    RateScale scale;

    static const base::Section<ScheduleSpec>& section() {
        static const base::Section<ScheduleSpec> keys{
            {Parameter::duration("warmup", R"({"epochs": 0})",
                                 "the rate grows linearly over this time"),
             &ScheduleSpec::warmup},
            {Parameter::number("warmup_from", "0",
                               "rate at the start of warm-up, relative to its end")
                 .at_least(0)
                 .at_most(1),
             &ScheduleSpec::warmup_from},
            {"scale", &ScheduleSpec::scale, "scaling of the rate by the global batch"},
        };
        return keys;
    }
};

std::vector<Parameter> with_common(std::vector<Parameter> own) {
    const auto& common = ScheduleSpec::section().parameters();
    own.insert(own.end(), common.begin(), common.end());
    return own;
}

double scaled(double lr, const RateScale& scale, int64_t global_batch) {
    const double ratio =
        static_cast<double>(global_batch) / static_cast<double>(scale.reference_batch);
    if (scale.rule == RateScale::Rule::linear) return lr * ratio;
    if (scale.rule == RateScale::Rule::sqrt) return lr * std::sqrt(ratio);
    return lr;
}

}  // namespace

const std::vector<base::Entry>& schedule_table() {
    static const std::vector<base::Entry> table = {
        {"constant", "the same rate throughout", with_common({})},
        {"multistep", "multiplied by gamma at the start of each milestone epoch",
         with_common({Parameter::numbers("milestones", "", "epochs, counted from 0").at_least(0),
                      Parameter::number("gamma", "0.1", "factor at a milestone").at_least(0)})},
        {"cosine", "half a cosine from lr to lr_min between warm-up and the end of the run",
         with_common(
             {Parameter::number("lr_min", "0", "rate at the end; not scaled").at_least(0)})},
        {"exponential", "multiplied by exp(-decay) in every iteration after the warm-up",
         with_common({Parameter::number("decay", "0.07", "decay per iteration").at_least(0)})},
        {"inverse_sqrt",
         "falls with the square root of the iterations after the warm-up (Vaswani et al. "
         "2017, eq. 3)",
         with_common({})},
    };
    return table;
}

base::Json resolve_schedule(const base::Json& given, const std::string& pointer) {
    base::Json out =
        base::resolve_member(given, pointer, "schedule", base::entries_of(schedule_table()));
    if (!out.contains("milestones")) return out;
    for (size_t i = 0; i < out["milestones"].size(); ++i) {
        const double epoch = out["milestones"][i];
        if (epoch == std::floor(epoch)) continue;
        throw base::UserError(pointer + "/milestones/" + std::to_string(i) +
                              ": must be a whole number of epochs (found " +
                              base::short_text(out["milestones"][i]) + ")");
    }
    return out;
}

LearningRate::LearningRate(const base::Json& schedule, double lr, const base::RunLength& run)
    : iterations_(run.iterations), per_epoch_(run.per_epoch) {
    const ScheduleSpec common = ScheduleSpec::section().read(schedule);
    lr_ = scaled(lr, common.scale, run.samples_per_iteration);
    warmup_ = base::to_iterations(common.warmup, run);
    warmup_from_ = common.warmup_from;
    const std::string type = schedule.at("type");
    if (type == "multistep") {
        kind_ = Kind::multistep;
        gamma_ = schedule.at("gamma");
        milestones_ = schedule.at("milestones").get<std::vector<double>>();
        std::sort(milestones_.begin(), milestones_.end());
    } else if (type == "cosine") {
        kind_ = Kind::cosine;
        lr_min_ = schedule.at("lr_min");
    } else if (type == "exponential") {
        kind_ = Kind::exponential;
        decay_ = schedule.at("decay");
    } else if (type == "inverse_sqrt") {
        kind_ = Kind::inverse_sqrt;
    }
}

double LearningRate::at(int64_t t) const {
    double lr = lr_;
    if (t < warmup_) {
        const double passed = static_cast<double>(t + 1) / static_cast<double>(warmup_);
        lr *= warmup_from_ + (1 - warmup_from_) * passed;
    } else if (kind_ == Kind::cosine && iterations_ > warmup_) {
        const double passed =
            static_cast<double>(t - warmup_) / static_cast<double>(iterations_ - warmup_);
        lr = lr_min_ + (lr_ - lr_min_) * (1 + std::cos(std::numbers::pi * passed)) / 2;
    } else if (kind_ == Kind::exponential) {
        lr *= std::exp(-decay_ * static_cast<double>(t - warmup_));
    } else if (kind_ == Kind::inverse_sqrt) {
        const auto peak = static_cast<double>(std::max<int64_t>(1, warmup_));
        lr *= std::sqrt(peak / static_cast<double>(t + 1));
    }
    if (kind_ == Kind::multistep) {
        const auto epoch = static_cast<double>(t / per_epoch_);
        const auto passed =
            std::upper_bound(milestones_.begin(), milestones_.end(), epoch) - milestones_.begin();
        lr *= std::pow(gamma_, static_cast<double>(passed));
    }
    return lr;
}

std::vector<int64_t> LearningRate::monotone_intervals() const {
    std::vector<int64_t> starts{0, warmup_};
    for (const double epoch : milestones_) {
        const double t = epoch * static_cast<double>(per_epoch_);
        if (t < static_cast<double>(iterations_)) starts.push_back(static_cast<int64_t>(t));
    }
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

}  // namespace dbench::algorithms
