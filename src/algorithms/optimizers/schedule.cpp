#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "algorithms/optimizers/optimizer.hpp"
#include "base/duration.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {
namespace {

using base::Parameter;

std::vector<Parameter> with_common(std::vector<Parameter> own) {
    own.push_back(Parameter::duration("warmup", R"({"epochs": 0})",
                                      "the rate grows linearly from 0 over this time"));
    own.push_back(Parameter::object(
        "scale",
        {Parameter::choice("rule", R"("none")", {"none", "linear", "sqrt"},
                           "growth of the rate with the global batch"),
         Parameter::integer("reference_batch", "256", "global batch that lr is meant for")
             .at_least(1)},
        "scaling of the rate by the global batch"));
    return own;
}

double scaled(double lr, const base::Json& scale, int64_t global_batch) {
    const double ratio =
        static_cast<double>(global_batch) / scale.at("reference_batch").get<double>();
    const std::string rule = scale.at("rule");
    if (rule == "linear") return lr * ratio;
    if (rule == "sqrt") return lr * std::sqrt(ratio);
    return lr;
}

}  // namespace

const std::vector<base::Entry>& schedule_table() {
    static const std::vector<base::Entry> table = {
        {"constant", "the same rate throughout", with_common({})},
        {"multistep", "times gamma from the first iteration of each milestone epoch",
         with_common({Parameter::numbers("milestones", "", "epochs, counted from 0").at_least(0),
                      Parameter::number("gamma", "0.1", "factor at a milestone").at_least(0)})},
        {"cosine", "half a cosine from lr to lr_min between warm-up and the end of the run",
         with_common(
             {Parameter::number("lr_min", "0", "rate at the end; not scaled").at_least(0)})},
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

int64_t to_iterations(const base::Json& duration, const LearningRate::Run& run) {
    return base::to_iterations(duration, run.per_epoch, run.global_batch);
}

LearningRate::LearningRate(const base::Json& schedule, double lr, const Run& run)
    : lr_(scaled(lr, schedule.at("scale"), run.global_batch)),
      warmup_(to_iterations(schedule.at("warmup"), run)),
      iterations_(run.iterations),
      per_epoch_(run.per_epoch) {
    const std::string type = schedule.at("type");
    if (type == "multistep") {
        kind_ = Kind::multistep;
        gamma_ = schedule.at("gamma");
        milestones_ = schedule.at("milestones").get<std::vector<double>>();
    } else if (type == "cosine") {
        kind_ = Kind::cosine;
        lr_min_ = schedule.at("lr_min");
    }
}

double LearningRate::at(int64_t t) const {
    double lr = lr_;
    if (t < warmup_) {
        lr *= static_cast<double>(t + 1) / static_cast<double>(warmup_);
    } else if (kind_ == Kind::cosine && iterations_ > warmup_) {
        const double passed =
            static_cast<double>(t - warmup_) / static_cast<double>(iterations_ - warmup_);
        lr = lr_min_ + (lr_ - lr_min_) * (1 + std::cos(std::numbers::pi * passed)) / 2;
    }
    if (kind_ == Kind::multistep) {
        const auto epoch = static_cast<double>(t / per_epoch_);
        const auto passed = std::count_if(milestones_.begin(), milestones_.end(),
                                          [&](double milestone) { return milestone <= epoch; });
        lr *= std::pow(gamma_, static_cast<double>(passed));
    }
    return lr;
}

}  // namespace dbench::algorithms
