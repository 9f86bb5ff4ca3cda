#include "base/cadence.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/duration.hpp"
#include "base/error.hpp"

namespace dbench::base {

bool Cadence::due(int64_t t) const {
    for (const Stage& stage : stages_) {
        if (t < stage.until) return stage.every > 0 && t % stage.every == 0;
    }
    return false;
}

bool Cadence::ever() const {
    return std::any_of(stages_.begin(), stages_.end(), [](const Stage& s) { return s.every > 0; });
}

int64_t Cadence::count(int64_t iterations) const {
    int64_t due = 0, first = 0;
    for (const Stage& stage : stages_) {
        const int64_t end = std::min(stage.until, iterations);
        if (end <= first) continue;
        const auto multiples_below = [&](int64_t t) { return (t + stage.every - 1) / stage.every; };
        if (stage.every > 0) due += multiples_below(end) - multiples_below(first);
        first = end;
    }
    return due;
}

int64_t Cadence::mean_interval(int64_t iterations) const {
    return std::max<int64_t>(1, iterations / std::max<int64_t>(1, count(iterations)));
}

Cadence to_cadence(const Json& spec, const std::string& pointer, int64_t per_epoch,
                   int64_t samples) {
    const auto iterations = [&](const Json& duration) {
        return duration.is_null() ? 0 : to_iterations(duration, per_epoch, samples);
    };
    if (!spec.is_array()) return Cadence(iterations(spec));
    std::vector<Cadence::Stage> stages;
    for (const Json& each : spec) {
        Cadence::Stage stage{.every = iterations(each.at("every"))};
        if (!each.at("until").is_null()) stage.until = iterations(each.at("until"));
        if (!stages.empty() && stage.until <= stages.back().until) {
            throw UserError(pointer + "/" + std::to_string(stages.size()) +
                            "/until: is iteration " + std::to_string(stage.until) +
                            ", not after the stage before it (until " +
                            std::to_string(stages.back().until) + "): order the stages");
        }
        stages.push_back(stage);
    }
    return Cadence(std::move(stages));
}

}  // namespace dbench::base
