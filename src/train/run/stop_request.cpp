#include "train/run/stop_request.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace dbench::train {
namespace {

using base::Json;
constexpr double kSeconds = 0.25, kMost = 10000;  // between questions; iterations

/// Of what the ranks say: whether one of them wishes, and the sum of their seconds.
std::string sum_up(const std::vector<std::string>& texts) {
    bool wished = false;
    double seconds = 0;
    for (const std::string& text : texts) {
        const Json said = Json::parse(text);
        wished |= said[0].get<bool>();
        seconds += said[1].get<double>();
    }
    return Json{wished, seconds}.dump();
}

}  // namespace

bool StopRequest::agreed(int64_t t, bool mine) {
    if (world_.size() == 1) return mine;
    if (t < next_) return false;
    double wanted = 1;
    if (asking_) {
        const Json answer = Json::parse(asking_->answer());
        asking_.reset();
        if (answer[0].get<bool>()) return true;
        const double iterations = static_cast<double>(world_.size()) * static_cast<double>(timed_);
        const double each = answer[1].get<double>() / std::max(iterations, 1.0);
        if (timed_ > 0) wanted = std::min(kSeconds / each, kMost);
    }
    next_ = t + static_cast<int64_t>(std::max(wanted, apart_));
    timed_ = asked_ < 0 ? 0 : t - asked_;
    asking_ = std::make_unique<comm::Collection>(world_, "the agreement on whether to stop",
                                                 Json{mine, watch_.seconds()}.dump(), sum_up);
    asked_ = t;
    watch_ = {};
    return false;
}

void StopRequest::end() {
    if (asking_) asking_->answer();
    asking_.reset();
}

}  // namespace dbench::train
