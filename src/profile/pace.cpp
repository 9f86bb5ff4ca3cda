#include "profile/pace.hpp"

#include <limits>

namespace dbench::profile {

void Pace::evaluated(double seconds) {
    ++evaluations_;
    evaluating_ += seconds;
}

void Pace::add_progress(int64_t completed, double elapsed) {
    last_ = {completed, elapsed - evaluating_};
    if (first_.completed < 0) first_ = last_;
}

double Pace::remaining() const {
    constexpr double kEnough = 1;  // Second.
    const double seconds = last_.training - first_.training;
    if (last_.completed <= first_.completed || seconds < kEnough) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    const double training = seconds / static_cast<double>(last_.completed - first_.completed) *
                            static_cast<double>(iterations_ - last_.completed);
    int64_t evaluations = 1;  // The final one.
    if (every_ > 0) evaluations += (iterations_ - 1) / every_ - last_.completed / every_;
    const double each = evaluations_ > 0 ? evaluating_ / static_cast<double>(evaluations_) : 0.0;
    return training + each * static_cast<double>(evaluations);
}

}  // namespace dbench::profile
