#include "algorithms/step/delays.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"

namespace dbench::algorithms {
namespace {

using base::Json;
using base::Parameter;

constexpr double kMaxSeconds = 3600;

Json resolve_replicas(const Json& given, const std::string& pointer) {
    if (given == "all") return given;
    if (!given.is_array() || given.empty()) {
        throw base::UserError(pointer + ": must be \"all\" or a list of replicas (found " +
                              base::short_text(given) + ")");
    }
    Json out = Json::array();
    const Parameter replica = Parameter::integer("", "", "").at_least(0);
    for (size_t k = 0; k < given.size(); ++k) {
        out.push_back(base::resolve_value(given[k], pointer + "/" + std::to_string(k), replica));
    }
    return out;
}

void set_replicas(DelayRule& rule, const Json& value) {
    if (value.is_array()) rule.replicas = value.get<std::vector<int64_t>>();
}

bool applies_to(const DelayRule& rule, int64_t replica) {
    const auto& delayed_replicas = rule.replicas;
    return delayed_replicas.empty() ||
           std::binary_search(delayed_replicas.begin(), delayed_replicas.end(), replica);
}

/// Returns the length of a delay with mean `seconds`, from u uniform in [0, 1).
double size(DelaySize distribution, double seconds, double u) {
    switch (distribution) {
        case DelaySize::constant:
            return seconds;
        case DelaySize::exponential:
            return -seconds * std::log1p(-u);
        case DelaySize::uniform:
            return 2 * seconds * u;
    }
    return seconds;
}

}  // namespace

const base::Section<DelayRule>& DelayRule::section() {
    static const base::Section<DelayRule> keys{
        {Parameter::any("replicas", "\"all\"", "delayed replicas: a list, or \"all\"",
                        resolve_replicas)
             .shaped(R"({"anyOf": [{"const": "all"}, {"type": "array", "minItems": 1,
                                   "items": {"type": "integer", "minimum": 0}}]})"),
         set_replicas},
        {Parameter::number("seconds", "", "mean length of a delay")
             .at_least(0)
             .at_most(kMaxSeconds, "the other ranks do not wait for hours"),
         &DelayRule::seconds},
        {base::Words<DelaySize>(
             "distribution",
             {{"constant", DelaySize::constant},
              {"exponential", DelaySize::exponential},
              {"uniform", DelaySize::uniform}},
             DelaySize::constant,
             "distribution of the length; uniform: between 0 and twice the mean"),
         &DelayRule::distribution},
        {Parameter::number("probability", "1",
                           "probability of a delay, independent for each replica and iteration")
             .at_least(0)
             .at_most(1),
         &DelayRule::probability},
    };
    return keys;
}

Delays::Delays(std::vector<DelayRule> rules, int64_t replicas, uint64_t seed)
    : rules_(std::move(rules)), seed_(seed) {
    for (size_t k = 0; k < rules_.size(); ++k) {
        auto& delayed_replicas = rules_[k].replicas;
        std::sort(delayed_replicas.begin(), delayed_replicas.end());
        if (delayed_replicas.empty() || delayed_replicas.back() < replicas) continue;
        throw base::UserError("/delays/" + std::to_string(k) + "/replicas: there is no replica " +
                              std::to_string(delayed_replicas.back()) + " (of " +
                              std::to_string(replicas) +
                              ", counted from 0): name others, or \"all\"");
    }
}

double Delays::seconds(int64_t replica, int64_t iteration) const {
    double sum = 0;
    for (size_t k = 0; k < rules_.size(); ++k) {
        const DelayRule& rule = rules_[k];
        if (!applies_to(rule, replica)) continue;
        base::Random random(seed_, base::Purpose::delay,
                            {k, static_cast<uint64_t>(replica), static_cast<uint64_t>(iteration)});
        if (random.uniform() >= rule.probability) continue;
        sum += size(rule.distribution, rule.seconds, random.uniform());
    }
    return sum;
}

double Delays::seconds(int64_t first, int64_t count, int64_t iteration) const {
    double sum = 0;
    for (int64_t i = first; i < first + count && any(); ++i) sum += seconds(i, iteration);
    return sum;
}

double Delays::expected(int64_t replica) const {
    double sum = 0;
    for (const DelayRule& rule : rules_) {
        if (applies_to(rule, replica)) sum += rule.probability * rule.seconds;
    }
    return sum;
}

}  // namespace dbench::algorithms
