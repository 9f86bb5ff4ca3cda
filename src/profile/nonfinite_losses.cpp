#include "profile/nonfinite_losses.hpp"

#include <cmath>
#include <utility>

namespace dbench::profile {

void NonfiniteLosses::add(int64_t iteration, int64_t first, std::span<const double> loss) {
    for (size_t k = 0; k < loss.size(); ++k) {
        const auto replica = static_cast<size_t>(first) + k;
        if (std::isfinite(loss[k]) || seen_[replica]) continue;
        seen_[replica] = true;
        if (new_++ == 0 || iteration < iteration_) {
            iteration_ = iteration;
            earliest_ = static_cast<int64_t>(replica);
        }
    }
}

std::string NonfiniteLosses::report() {
    const int64_t others = std::exchange(new_, 0) - 1;
    return "the training loss is not finite in iteration " + std::to_string(iteration_) +
           ": of replica " + std::to_string(earliest_) +
           (others > 0 ? " and of " + std::to_string(others) + " more" : "");
}

}  // namespace dbench::profile
