// The schedule `cosine`: half a cosine from the rate to lr_min, between the end of the warm-up and
// the end of the run (Loshchilov and Hutter 2017, arXiv 1608.03983, without restarts).

#include <cmath>
#include <numbers>

#include "algorithms/learning_rates/schedule.hpp"

namespace dbench::algorithms {
namespace {

struct CosineSpec : ScheduleSpec {
    double lr_min;  ///< Rate at the end of the run.

    static const base::Section<CosineSpec>& section();
};

const base::Section<CosineSpec>& CosineSpec::section() {
    static const base::Section<CosineSpec> keys{
        {{base::Parameter::number("lr_min", "0", "rate at the end; not scaled").at_least(0),
          &CosineSpec::lr_min}},
        ScheduleSpec::section()};
    return keys;
}

class CosineRate final : public RateSchedule {
public:
    CosineRate(double lr_min, const RateContext& context) : lr_min_(lr_min), context_(context) {}
    double after_warmup(int64_t t) const override {
        const int64_t warmup = context_.warmup, iterations = context_.run.iterations;
        if (iterations <= warmup) return context_.rate;
        const double passed =
            static_cast<double>(t - warmup) / static_cast<double>(iterations - warmup);
        return lr_min_ + (context_.rate - lr_min_) * (1 + std::cos(std::numbers::pi * passed)) / 2;
    }

private:
    double lr_min_;
    RateContext context_;
};

std::unique_ptr<RateSchedule> make_cosine_rate(const CosineSpec& spec, const RateContext& context) {
    return std::make_unique<CosineRate>(spec.lr_min, context);
}

}  // namespace

ScheduleEntry cosine_schedule() {
    return {"cosine", "half a cosine from lr to lr_min between warm-up and the end of the run",
            make_cosine_rate};
}

}  // namespace dbench::algorithms
