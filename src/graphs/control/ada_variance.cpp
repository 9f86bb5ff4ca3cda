// The graph `ada_variance`: Ada in its variance form. The degree k of a graph family follows the
// measured dispersion of parameter tensors.
//
//     v = aggregate of the measure over tensors, in iterations t with (t + 1) mod every = 0
//     s = v, or v / (largest v so far)
//     s > high in `patience` consecutive checks: increase k by `step` rungs;   s < low: decrease it
//
// The DBench paper (arXiv 2509.12213) proposes that the degree falls as variances settle. The band,
// its hysteresis and all constants are this project's choice.

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/duration.hpp"
#include "graphs/control/degree_family.hpp"
#include "graphs/number_text.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::graphs {
namespace {

enum class Aggregate : uint8_t { mean, median, max };

struct AdaVarianceSpec {
    std::string measure;
    base::Json tensors;  ///< "all", "weights", or a list of names.
    Aggregate aggregate;
    bool relative;  ///< As a share of the largest value so far.
    double low, high;
    int64_t patience, step;
    base::Duration every;
    std::optional<int64_t> k0;  ///< Degree at the start; empty: k_max.
    int64_t k_min, k_max;
    std::string family;

    static const base::Section<AdaVarianceSpec>& section();
};

const base::Section<AdaVarianceSpec>& AdaVarianceSpec::section() {
    using P = base::Parameter;
    using S = AdaVarianceSpec;
    static const base::Section<S> keys{
        {P::choice("measure", "\"coefficient_of_variation\"",
                   {"gini", "index_of_dispersion", "coefficient_of_variation",
                    "quartile_coefficient", "variance", "consensus_distance"},
                   "what is measured just before averaging"),
         &S::measure},
        {P::any("tensors", "\"weights\"", "all, weights, or a list of names (* matches any text)")
             .shaped(R"({"anyOf": [{"enum": ["all", "weights"]},
                 {"type": "array", "items": {"type": "string"}, "minItems": 1}]})"),
         &S::tensors},
        {base::Words<Aggregate>(
             "aggregate",
             {{"mean", Aggregate::mean}, {"median", Aggregate::median}, {"max", Aggregate::max}},
             Aggregate::mean, "of the tensors' values"),
         &S::aggregate},
        {P::flag("relative", "true", "as a share of the largest value so far"), &S::relative},
        {P::number("low", "0.25", "below this, fewer neighbours").at_least(0), &S::low},
        {P::number("high", "0.5", "above this, more neighbours").at_least(0), &S::high},
        {P::integer("patience", "2", "checks in a row before k changes").at_least(1), &S::patience},
        {P::integer("step", "1", "degrees of the family that k changes by").at_least(1), &S::step},
        {P::duration("every", R"({"iterations": 20})", "between checks").greater_than(0),
         &S::every},
        {P::integer("k0", "null", "degree at the start; null: k_max").at_least(1).or_null(),
         &S::k0},
        {P::integer("k_min", "2", "smallest degree").at_least(1), &S::k_min},
        {P::integer("k_max", "10", "largest degree").at_least(1), &S::k_max},
        {family_parameter(), &S::family},
    };
    return keys;
}

double aggregate(std::vector<double> values, Aggregate how) {
    if (values.empty()) return 0;
    if (how == Aggregate::max) return *std::max_element(values.begin(), values.end());
    if (how == Aggregate::median) {
        for (const double v : values) {
            if (v != v) return v;  // a NaN cannot be sorted
        }
        const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        if (values.size() % 2 != 0) return *middle;
        return (*std::max_element(values.begin(), middle) + *middle) / 2;
    }
    double sum = 0;
    for (const double v : values) sum += v;
    return sum / static_cast<double>(values.size());
}

Measure measure_of(const std::string& name) {
    if (name == "gini") return Measure::gini;
    if (name == "index_of_dispersion") return Measure::index_of_dispersion;
    if (name == "coefficient_of_variation") return Measure::coefficient_of_variation;
    if (name == "quartile_coefficient") return Measure::quartile_coefficient;
    if (name == "variance") return Measure::variance;
    return Measure::consensus_distance;
}

MeasureRequest request_of(const AdaVarianceSpec& spec, const std::string& pointer) {
    MeasureRequest request{measure_of(spec.measure)};
    const base::Json& tensors = spec.tensors;
    const auto refuse = [&] {
        throw base::UserError(pointer + "/tensors: must be \"all\", \"weights\", or a list of " +
                              "names (* matches any text); found " + base::short_text(tensors));
    };
    if (tensors.is_array() && !tensors.empty()) {
        for (const auto& name : tensors) {
            if (!name.is_string()) refuse();
            request.tensors.push_back(name);
        }
    } else if (tensors == "weights") {
        request.weights_only = true;
    } else if (tensors != "all") {
        refuse();
    }
    return request;
}

class AdaVariance final : public StagedSchedule {
public:
    AdaVariance(const AdaVarianceSpec& spec, const GraphContext& context,
                const std::string& pointer)
        : StagedSchedule(context.n),
          request_(request_of(spec, pointer)),
          measure_(spec.measure),
          aggregate_(spec.aggregate),
          relative_(spec.relative),
          low_(spec.low),
          high_(spec.high),
          patience_(spec.patience),
          step_(spec.step),
          every_(base::to_iterations(spec.every, context.run)) {
        if (low_ > high_) {
            throw base::UserError(pointer + "/low: " + number_text(low_) + " is above high = " +
                                  number_text(high_) + ": a band has low <= high");
        }
        const int64_t k_min = spec.k_min, k_max = spec.k_max, k0 = spec.k0.value_or(k_max);
        if (k_min > k_max || k0 < k_min || k0 > k_max) {
            throw base::UserError(pointer + "/k0: k_min <= k0 <= k_max is needed (found " +
                                  std::to_string(k_min) + ", " + std::to_string(k0) + ", " +
                                  std::to_string(k_max) + ")");
        }
        const DegreeFamily family(spec.family, context, pointer);
        for (const int64_t k : family.between(k_min, k_max)) {
            const size_t rung = add(family.title(k), family.make(k));
            if (k == family.at_least(k0)) rung_ = rung;
        }
        start_stage(0, rung_, "start");
    }

    std::optional<MeasureRequest> measure_request() const override { return request_; }
    int64_t measured_every() const override { return every_; }

    void decide(int64_t t, std::span<const double> measured) override {
        const double value = aggregate({measured.begin(), measured.end()}, aggregate_);
        if (!std::isfinite(value)) return;
        largest_ = std::max(largest_, value);
        const double seen = !relative_ ? value : largest_ > 0 ? value / largest_ : 0;
        least_seen_ = std::min(least_seen_, seen);
        most_seen_ = std::max(most_seen_, seen);
        above_ = seen > high_ ? above_ + 1 : 0;
        below_ = seen < low_ ? below_ + 1 : 0;
        if (above_ < patience_ && below_ < patience_) return;
        const auto rungs = static_cast<int64_t>(graphs());
        const int64_t wanted = static_cast<int64_t>(rung_) + (above_ >= patience_ ? step_ : -step_);
        const std::string reason =
            measure_ + " " + number_text(value) +
            (relative_ ? ", " + number_text(seen) + " of its maximum," : std::string()) +
            (above_ >= patience_ ? " above " + number_text(high_) : " below " + number_text(low_));
        above_ = below_ = 0;
        rung_ = static_cast<size_t>(std::clamp<int64_t>(wanted, 0, rungs - 1));
        start_stage(t + 1, rung_, reason);
    }

    std::string inactivity_reason() const override {
        if (stages().size() > 1 || most_seen_ < 0) return "";
        const bool top = rung_ + 1 == graphs();
        return "/graph: ada_variance never changed its graph (" + name(rung_) + "): " + measure_ +
               " was between " + number_text(least_seen_) + " and " + number_text(most_seen_) +
               (relative_ ? " of its maximum" : "") + "; k falls after " +
               std::to_string(patience_) +
               " checks in a row below /graph/low = " + number_text(low_) +
               " and rises after as many above /graph/high = " + number_text(high_) +
               (top ? ", but is /graph/k_max already" : "");
    }

protected:
    std::vector<double> numbers() const override {
        return {largest_, double(above_), double(below_), double(rung_), least_seen_, most_seen_};
    }
    void set_numbers(const std::vector<double>& saved) override {
        largest_ = saved.at(0);
        above_ = static_cast<int64_t>(saved.at(1));
        below_ = static_cast<int64_t>(saved.at(2));
        rung_ = static_cast<size_t>(saved.at(3));
        least_seen_ = saved.at(4);
        most_seen_ = saved.at(5);
    }

private:
    MeasureRequest request_;
    std::string measure_;
    Aggregate aggregate_;
    bool relative_;
    double low_, high_;
    int64_t patience_, step_, every_;
    double largest_ = 0;
    double least_seen_ = std::numeric_limits<double>::max(), most_seen_ = -1;
    int64_t above_ = 0, below_ = 0;  // consecutive checks outside of the band
    size_t rung_ = 0;
};

std::unique_ptr<Schedule> make_ada_variance(const AdaVarianceSpec& spec,
                                            const GraphContext& context,
                                            const std::string& pointer) {
    return std::make_unique<AdaVariance>(spec, context, pointer);
}

}  // namespace

GraphEntry ada_variance_entry() {
    return mark_run_dependent({"ada_variance",
                               "degree follows the measured dispersion of parameter tensors",
                               make_ada_variance});
}

}  // namespace dbench::graphs
