// The schedule `multistep`: from the first iteration of each milestone epoch on, the rate is
// multiplied by gamma, also during the warm-up.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "algorithms/learning_rates/schedule.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {
namespace {

using base::Json;
using base::Parameter;

struct MultistepSpec : ScheduleSpec {
    std::vector<double> milestones;  ///< Epochs, counted from 0; whole numbers.
    double gamma;

    static const base::Section<MultistepSpec>& section();
};

Json resolve_milestones(const Json& given, const std::string& pointer) {
    for (size_t i = 0; i < given.size(); ++i) {
        const double epoch = given[i];
        if (epoch == std::floor(epoch)) continue;
        throw base::UserError(pointer + "/" + std::to_string(i) +
                              ": must be a whole number of epochs (found " +
                              base::short_text(given[i]) + ")");
    }
    return given;
}

Parameter milestones_parameter() {
    Parameter milestones =
        Parameter::numbers("milestones", "", "epochs, counted from 0").at_least(0);
    milestones.resolve = resolve_milestones;
    return milestones;
}

const base::Section<MultistepSpec>& MultistepSpec::section() {
    static const base::Section<MultistepSpec> keys{
        {{milestones_parameter(), &MultistepSpec::milestones},
         {Parameter::number("gamma", "0.1", "factor at a milestone").at_least(0),
          &MultistepSpec::gamma}},
        ScheduleSpec::section()};
    return keys;
}

std::string number_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
}

class MultistepRate final : public RateSchedule {
public:
    MultistepRate(const MultistepSpec& spec, const RateContext& context)
        : rate_(context.rate), gamma_(spec.gamma), run_(context.run), milestones_(spec.milestones) {
        std::sort(milestones_.begin(), milestones_.end());
    }
    double after_warmup(int64_t t) const override { return rate_ * warmup_factor(t); }
    double warmup_factor(int64_t t) const override {
        const auto epoch = static_cast<double>(t / run_.per_epoch);
        const auto passed =
            std::upper_bound(milestones_.begin(), milestones_.end(), epoch) - milestones_.begin();
        return std::pow(gamma_, static_cast<double>(passed));
    }
    std::vector<int64_t> turning_points() const override {
        std::vector<int64_t> out;
        for (const double epoch : milestones_) {
            const double t = epoch * static_cast<double>(run_.per_epoch);
            // A milestone far after the end of the run may not be representable as an integer.
            if (t < static_cast<double>(run_.iterations)) out.push_back(static_cast<int64_t>(t));
        }
        return out;
    }

    std::string unreached() const override {
        std::string epochs;
        for (const double epoch : milestones_) {
            if (epoch * static_cast<double>(run_.per_epoch) < static_cast<double>(run_.iterations))
                continue;
            epochs += (epochs.empty() ? "" : ", ") + number_text(epoch);
        }
        if (epochs.empty()) return "";
        const double length =
            static_cast<double>(run_.iterations) / static_cast<double>(run_.per_epoch);
        return "/schedule/milestones: epoch " + epochs + " is never reached (the run ends after " +
               number_text(length) + " epochs)";
    }

private:
    double rate_, gamma_;
    base::RunLength run_;
    std::vector<double> milestones_;  // In rising order.
};

std::unique_ptr<RateSchedule> make_multistep_rate(const MultistepSpec& spec,
                                                  const RateContext& context) {
    return std::make_unique<MultistepRate>(spec, context);
}

}  // namespace

ScheduleEntry multistep_schedule() {
    return {"multistep", "multiplied by gamma at the start of each milestone epoch",
            make_multistep_rate};
}

}  // namespace dbench::algorithms
