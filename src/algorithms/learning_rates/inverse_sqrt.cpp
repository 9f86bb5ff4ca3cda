// The schedule `inverse_sqrt` (Vaswani et al. 2017, arXiv 1706.03762, eq. 3): after U iterations of
// warm-up, iteration t has the rate lr sqrt(U / (t + 1)).

#include <algorithm>
#include <cmath>

#include "algorithms/learning_rates/schedule.hpp"

namespace dbench::algorithms {
namespace {

class InverseSqrtRate final : public RateSchedule {
public:
    explicit InverseSqrtRate(const RateContext& context) : context_(context) {}
    double after_warmup(int64_t t) const override {
        const auto peak = static_cast<double>(std::max<int64_t>(1, context_.warmup));
        return context_.rate * std::sqrt(peak / static_cast<double>(t + 1));
    }

private:
    RateContext context_;
};

std::unique_ptr<RateSchedule> make_inverse_sqrt_rate(const ScheduleSpec&,
                                                     const RateContext& context) {
    return std::make_unique<InverseSqrtRate>(context);
}

}  // namespace

ScheduleEntry inverse_sqrt_schedule() {
    return {"inverse_sqrt",
            "falls with the square root of the iterations after the warm-up (Vaswani et al. "
            "2017, eq. 3)",
            make_inverse_sqrt_rate};
}

}  // namespace dbench::algorithms
