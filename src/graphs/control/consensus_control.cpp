// The graph `consensus_control` (Kong et al., ICML 2021): keeps the consensus distance below a
// target, which is fixed or a fraction of its running maximum, by one of two means:
//
//     rounds:  repeat averaging with the same W until the distance is below it, at most max_rounds
//     degree:  more neighbours while it is above, fewer while it is below slack * target

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/duration.hpp"
#include "graphs/control/consensus_target.hpp"
#include "graphs/control/degree_family.hpp"
#include "graphs/number_text.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::graphs {
namespace {

/// The keys that only the graph has.
struct DegreeControlSpec {
    base::Json graph;  ///< By rounds: the static graph that averages.
    std::string family;
    int64_t k_min, k_max;  ///< By degree: the smallest and the largest.
    double slack;          ///< By degree: fewer neighbours below slack * target.

    static const base::Section<DegreeControlSpec>& section();
};

const base::Section<DegreeControlSpec>& DegreeControlSpec::section() {
    using P = base::Parameter;
    using S = DegreeControlSpec;
    static const base::Section<S> keys{
        {P::of("graphs", "graph", "\"ring\"", "rounds: the static graph that averages",
               resolve_graph),
         &S::graph},
        {family_parameter(), &S::family},
        {P::integer("k_min", "2", "by degree: the smallest").at_least(1), &S::k_min},
        {P::integer("k_max", "10", "by degree: the largest").at_least(1), &S::k_max},
        {P::number("slack", "0.5", "degree: fewer neighbours below slack * target")
             .at_least(0)
             .at_most(1),
         &S::slack},
    };
    return keys;
}

struct ConsensusControlSpec : ConsensusTargetSpec, DegreeControlSpec {
    bool by_degree;  ///< More neighbours instead of repeated averaging.

    static const base::Section<ConsensusControlSpec>& section();
};

const base::Section<ConsensusControlSpec>& ConsensusControlSpec::section() {
    static const base::Section<ConsensusControlSpec> keys{
        {{base::Words<bool>("by", {{"rounds", false}, {"degree", true}}, false,
                            "repeat averaging, or use more neighbours"),
          &ConsensusControlSpec::by_degree}},
        ConsensusTargetSpec::section(),
        DegreeControlSpec::section()};
    return keys;
}

/// Base class of both forms: computes the target.
class ConsensusControl : public StagedSchedule {
public:
    ConsensusControl(const ConsensusTargetSpec& spec, int n, const RunFacts& run)
        : StagedSchedule(n),
          target_(spec.target.value_or(-1)),
          fraction_(spec.fraction),
          every_(base::to_iterations(spec.every, run)) {}

    std::optional<MeasureRequest> measure_request() const override {
        return MeasureRequest{Measure::consensus_distance};
    }
    int64_t measured_every() const override { return every_; }
    void decide(int64_t, std::span<const double> measured) override { note(measured.front()); }

protected:
    void note(double distance) {
        if (std::isfinite(distance)) largest_ = std::max(largest_, distance);
    }
    /// Returns true if the distance requires more averaging.
    bool over(double distance) {
        const double share = target() > 0 ? distance / target() : 0;
        if (std::isfinite(share)) most_ = std::max(most_, share);
        return distance > target();
    }
    std::string inactivity_text(const std::string& never) const {
        if (most_ < 0) return "";  // nothing was measured; an earlier warning says so
        return "consensus_control " + never + ": the consensus distance was at most " +
               number_text(most_) + " of the target" +
               (most_ > 1 ? "" : " (a smaller target or fraction would make it act)");
    }
    double most() const { return most_; }
    double target() const { return target_ >= 0 ? target_ : fraction_ * largest_; }
    std::vector<double> numbers() const override { return {largest_, most_}; }
    void set_numbers(const std::vector<double>& saved) override {
        largest_ = saved.at(0);
        most_ = saved.at(1);
    }

private:
    double target_, fraction_;
    int64_t every_;
    double largest_ = 0, most_ = -1;  // distance; distance / target at the decisions
};

class ByRounds final : public ConsensusControl {
public:
    ByRounds(const ConsensusTargetSpec& spec, std::string label,
             std::shared_ptr<const Schedule> graph, const RunFacts& run, const std::string& pointer)
        : ConsensusControl(spec, graph->size(), run), max_rounds_(spec.max_rounds) {
        if (graph->period() != 1) {
            throw base::UserError(
                pointer +
                ": is a sequence (applying one of its matrices again would not bring replicas "
                "closer): use a static graph, or the graph consensus_control with \"by\": "
                "\"degree\"");
        }
        add(std::move(label), std::move(graph));
        start_stage(0, 0, "start");
    }

    bool repeats() const override { return true; }
    bool mix_again(int64_t, int averagings, double before, double after) override {
        note(before);
        return over(after) && averagings < max_rounds_;
    }
    std::string inactivity_reason() const override {
        return most() > 1 && max_rounds_ > 1 ? ""
                                             : inactivity_text("never averaged more than once");
    }

private:
    int64_t max_rounds_;
};

class ByDegree final : public ConsensusControl {
public:
    ByDegree(const ConsensusControlSpec& spec, const GraphContext& context,
             const std::string& pointer)
        : ConsensusControl(spec, context.n, context.run), slack_(spec.slack) {
        const int64_t k_min = spec.k_min, k_max = spec.k_max;
        if (k_min > k_max) {
            throw base::UserError(pointer + "/k_min: " + std::to_string(k_min) +
                                  " is above k_max = " + std::to_string(k_max));
        }
        const DegreeFamily family(spec.family, context, pointer);
        for (const int64_t k : family.between(k_min, k_max)) add(family.title(k), family.make(k));
        start_stage(0, 0, "start");
    }

    void decide(int64_t t, std::span<const double> measured) override {
        const double distance = measured.front();
        if (!std::isfinite(distance)) return;
        note(distance);
        const bool up = over(distance), down = distance < slack_ * target();
        if (!up && !down) return;
        const auto most = static_cast<int64_t>(graphs()) - 1;
        const int64_t wanted = static_cast<int64_t>(last_graph()) + (up ? 1 : -1);
        start_stage(t + 1, static_cast<size_t>(std::clamp<int64_t>(wanted, 0, most)),
                    "consensus distance " + number_text(distance) +
                        (up ? " above " : " well below ") + number_text(target()));
    }

    std::string inactivity_reason() const override {
        return stages().size() > 1 ? ""
                                   : inactivity_text("never changed its graph (" + name(0) + ")");
    }

private:
    double slack_;
};

std::unique_ptr<Schedule> make_consensus_control(const ConsensusControlSpec& spec,
                                                 const GraphContext& context,
                                                 const std::string& pointer) {
    if (spec.by_degree) return std::make_unique<ByDegree>(spec, context, pointer);
    auto graph = make_graph(spec.graph, context, pointer + "/graph");
    return std::make_unique<ByRounds>(spec, graph_label(spec.graph), std::move(graph), context.run,
                                      pointer + "/graph");
}

}  // namespace

std::unique_ptr<Schedule> control_consensus(const ConsensusTargetSpec& spec,
                                            std::shared_ptr<const Schedule> graph,
                                            const RunFacts& run) {
    return std::make_unique<ByRounds>(spec, "the graph", std::move(graph), run, "/graph");
}

GraphEntry consensus_control_entry() {
    return mark_run_dependent({"consensus_control", "keeps the consensus distance under a target",
                               make_consensus_control});
}

}  // namespace dbench::graphs
