// The schedule `exponential`: the rate is multiplied by exp(-decay) in every iteration after the
// warm-up.

#include <cmath>

#include "algorithms/learning_rates/schedule.hpp"

namespace dbench::algorithms {
namespace {

struct ExponentialSpec : ScheduleSpec {
    double decay;

    static const base::Section<ExponentialSpec>& section();
};

const base::Section<ExponentialSpec>& ExponentialSpec::section() {
    static const base::Section<ExponentialSpec> keys{
        {{base::Parameter::number("decay", "0.07", "decay per iteration").at_least(0),
          &ExponentialSpec::decay}},
        ScheduleSpec::section()};
    return keys;
}

class ExponentialRate final : public RateSchedule {
public:
    ExponentialRate(double decay, const RateContext& context) : decay_(decay), context_(context) {}
    double after_warmup(int64_t t) const override {
        return context_.rate * std::exp(-decay_ * static_cast<double>(t - context_.warmup));
    }

private:
    double decay_;
    RateContext context_;
};

std::unique_ptr<RateSchedule> make_exponential_rate(const ExponentialSpec& spec,
                                                    const RateContext& context) {
    return std::make_unique<ExponentialRate>(spec.decay, context);
}

}  // namespace

ScheduleEntry exponential_schedule() {
    return {"exponential", "multiplied by exp(-decay) in every iteration after the warm-up",
            make_exponential_rate};
}

}  // namespace dbench::algorithms
