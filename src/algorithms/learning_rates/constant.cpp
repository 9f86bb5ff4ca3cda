// The schedule `constant`: the rate never changes.

#include "algorithms/learning_rates/schedule.hpp"

namespace dbench::algorithms {
namespace {

class ConstantRate final : public RateSchedule {
public:
    explicit ConstantRate(double rate) : rate_(rate) {}
    double after_warmup(int64_t) const override { return rate_; }

private:
    double rate_;
};

std::unique_ptr<RateSchedule> make_constant_rate(const ScheduleSpec&, const RateContext& context) {
    return std::make_unique<ConstantRate>(context.rate);
}

}  // namespace

ScheduleEntry constant_schedule() {
    return {"constant", "the same rate throughout", make_constant_rate};
}

}  // namespace dbench::algorithms
