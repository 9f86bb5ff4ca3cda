#include "train/run/stop_request.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace dbench::train {
namespace {

using base::Json;
// Seconds and maximum iterations between two queries.
constexpr double kQuerySeconds = 0.25, kMaxInterval = 10000;

/// Combines the ranks' texts: true if one of them requests a stop, and the sum of their seconds.
std::string combine_queries(const std::vector<std::string>& texts) {
    bool any = false;
    double seconds = 0;
    for (const std::string& text : texts) {
        const Json parsed = Json::parse(text);
        any |= parsed[0].get<bool>();
        seconds += parsed[1].get<double>();
    }
    return Json{any, seconds}.dump();
}

}  // namespace

bool StopRequest::agreed(int64_t t, bool stop_wanted) {
    if (world_.size() == 1) return stop_wanted;
    if (t < next_) return false;
    double interval = 1;
    if (query_) {
        const Json answer = Json::parse(query_->answer());
        query_.reset();
        if (answer[0].get<bool>()) return true;
        const double iterations =
            static_cast<double>(world_.size()) * static_cast<double>(timed_iterations_);
        const double each = answer[1].get<double>() / std::max(iterations, 1.0);
        if (timed_iterations_ > 0) interval = std::min(kQuerySeconds / each, kMaxInterval);
    }
    next_ = t + static_cast<int64_t>(std::max(interval, min_interval_));
    timed_iterations_ = last_query_ < 0 ? 0 : t - last_query_;
    query_ = std::make_unique<comm::BackgroundCollective>(
        world_, "the agreement on whether to stop", Json{stop_wanted, watch_.seconds()}.dump(),
        combine_queries);
    last_query_ = t;
    watch_ = {};
    return false;
}

void StopRequest::end() {
    if (query_) query_->answer();
    query_.reset();
}

}  // namespace dbench::train
