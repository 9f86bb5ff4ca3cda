#include "base/cadence.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dbench::base {

bool Cadence::due(int64_t t) const {
    for (const Stage& stage : stages_) {
        if (t < stage.until) return stage.every > 0 && t % stage.every == 0;
    }
    return false;
}

bool Cadence::any_due() const {
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

Stages to_stages(const Json& spec) {
    const auto duration = [](const Json& value) -> std::optional<Duration> {
        return value.is_null() ? std::nullopt : std::optional(to_duration(value));
    };
    if (!spec.is_array()) return {{{std::nullopt, duration(spec)}}};
    Stages stages;
    for (const Json& each : spec) {
        stages.all.push_back({duration(each.at("until")), duration(each.at("every"))});
    }
    return stages;
}

Cadence to_cadence(const Stages& given, const std::string& pointer, const RunLength& run) {
    std::vector<Cadence::Stage> stages;
    for (const Stages::Stage& each : given.all) {
        Cadence::Stage stage{.every = each.every ? to_iterations(*each.every, run) : 0};
        if (each.until) stage.until = to_iterations(*each.until, run);
        if (!stages.empty() && stage.until <= stages.back().until) {
            throw UserError(pointer + "/" + std::to_string(stages.size()) +
                            "/until: is iteration " + std::to_string(stage.until) +
                            ", but the stage before it ends at iteration " +
                            std::to_string(stages.back().until) + ": order the stages");
        }
        stages.push_back(stage);
    }
    return Cadence(std::move(stages));
}

}  // namespace dbench::base
