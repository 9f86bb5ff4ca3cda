#pragma once
// Schedules that change from graph to graph: lists with `until`, and controllers, which either plan
// ahead or decide during the run from measurements.

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graphs/schedule.hpp"

namespace dbench::graphs {

struct ConsensusTargetSpec;

/// Quantities that a controller can measure in iteration t. The dispersion measures
/// (docs/numerics.md) describe the replicas' norms of each tensor just before averaging. variance
/// has one value per tensor, over replicas and elements. consensus_distance is one number.
/// step_time is the seconds of each replica's own work, without waiting.
enum class Measure {
    gini,
    index_of_dispersion,
    coefficient_of_variation,
    quartile_coefficient,
    variance,
    consensus_distance,
    step_time
};

/// The measurement that a controller requests.
struct MeasureRequest {
    Measure measure;
    bool weights_only = false;              ///< Only tensors of kind weight (no biases, no norms).
    std::vector<std::string> tensors = {};  ///< Names; * matches any text; empty: all tensors.
};

/// A schedule that uses one graph after another. The graph of iteration t is fixed from iteration t
/// on at the latest and never changes afterwards. Const functions may be called from other threads.
class StagedSchedule : public Schedule {
public:
    /// Graph number `graph` is used from iteration `first` on.
    struct Stage {
        int64_t first;
        size_t graph;
        std::string reason;
        int64_t before = 0;  ///< Iterations that used this graph in earlier stages.
    };

    explicit StagedSchedule(int n) : n_(n) {}

    int size() const override { return n_; }
    /// The round of iteration t. A graph starts with its round 0, and continues where it stopped
    /// when it is used again.
    Round at(int64_t t) const override;
    /// Round number `use` of graph number `graph`.
    Round round_of_use(size_t graph, int64_t use) const;
    std::vector<Link> in(Round round, int i) const override;
    std::vector<Link> out(Round round, int i) const override;
    std::vector<std::vector<int>> groups(Round round) const override;
    std::shared_ptr<const Matrix> matrix(Round round) const override;
    int64_t period() const override { return 0; }
    StagedSchedule* staged() override { return this; }

    /// The stages so far, in order. The first stage begins at iteration 0.
    std::vector<Stage> stages() const;
    Stage stage(size_t number) const;
    size_t stage_count() const;
    /// Returns the number of the stage that contains iteration t.
    size_t stage_of(int64_t t) const;
    std::string name(size_t graph) const;
    const Schedule& graph(size_t graph) const;
    size_t graphs() const;
    /// The measurement on which decisions rest; empty if all stages are planned.
    virtual std::optional<MeasureRequest> measure_request() const { return std::nullopt; }
    /// Number of iterations from one measurement to the next; 0 if nothing is ever measured.
    virtual int64_t measured_every() const { return 0; }
    /// True if iteration t is measured and `decide` receives the result: (t + 1) mod
    /// measured_every() = 0.
    bool is_measured(int64_t t) const {
        return measures_before(t + 1) && (t + 1) % measured_every() == 0;
    }
    /// True if some iteration before t is measured.
    bool measures_before(int64_t t) const { return measured_every() > 0 && measured_every() <= t; }
    /// Receives the measurement of iteration t (one value per tensor, one per replica, or one
    /// value), which is the same on all ranks. May set the graph from t + 1 on.
    virtual void decide(int64_t, std::span<const double>) {}

    /// True if averaging may be repeated in iterations that are measured.
    virtual bool repeats() const { return false; }
    /// True if the caller must call `mix_again` after the averaging of iteration t.
    bool may_repeat(int64_t t) const { return repeats() && is_measured(t); }
    /// Returns true if iteration t must average once more with the same W, after so many
    /// `averagings` took the consensus distance from `before` to `after`. The result is the same on
    /// all ranks.
    virtual bool mix_again(int64_t, int /*averagings*/, double /*before*/, double /*after*/) {
        return false;
    }

    /// Warnings about unusual properties of the plan, for people.
    virtual std::vector<std::string> warnings() const { return {}; }
    /// For a controller that has not acted by the end of a run: the reason, for people. Otherwise
    /// empty.
    virtual std::string inactivity_reason() const { return ""; }

    /// The reason why this schedule cannot be part of another graph; empty if it can.
    virtual std::string nesting_problem() const {
        return measure_request() ? "decides during the run by what is measured" : "";
    }

    /// The state on which decisions rest, as text; `restore` continues from it in a fresh copy.
    std::string save() const;
    void restore(const std::string& saved);

protected:
    /// Adds a graph that stages can refer to, and returns its number. The graph must not be a
    /// StagedSchedule itself (use `append_plan` for those). `name` is for people, such as
    /// "ring_lattice k=8".
    size_t add(std::string name, std::shared_ptr<const Schedule> graph);
    /// Begins a stage at iteration t (after all stages so far) that uses graph number `graph`, for
    /// `reason`. Does nothing if that graph is the present one.
    void start_stage(int64_t t, size_t graph, const std::string& reason);
    size_t last_graph() const;
    /// Appends the stages of `plan` between iterations `first` and `end`, at the iterations at
    /// which the plan has them.
    void append_plan(const StagedSchedule& plan, int64_t first, int64_t end);

    /// The controller's own numbers, for `save` and `restore`.
    virtual std::vector<double> numbers() const { return {}; }
    virtual void set_numbers(const std::vector<double>&) {}

private:
    struct Named {
        std::string name;
        std::shared_ptr<const Schedule> schedule;
    };
    struct Found {
        const Schedule& schedule;
        Round round;
    };
    Found find(Round round) const;
    size_t stage_at(int64_t t) const;
    Round named_round(size_t graph, int64_t use) const;
    void append(Stage stage);

    int n_;
    mutable std::mutex mutex_;
    std::deque<Named> graphs_;
    std::vector<Stage> stages_;
    std::vector<int64_t> used_;  // per graph: iterations in ended stages
};

/// Returns `schedule` as a StagedSchedule if it changes between graphs by a plan, or null if it is
/// one graph. Throws UserError if it cannot be part of another graph
/// (StagedSchedule::nesting_problem).
const StagedSchedule* plan_of(const Schedule& schedule, const std::string& pointer);

/// Builds a list of graphs. `entries` is the resolved list; each entry but the last has `until`, a
/// duration from the start of the run. Throws UserError if the ends do not increase.
std::unique_ptr<Schedule> make_list(const base::Json& entries, const GraphContext& context,
                                    const std::string& pointer);

/// Wraps `graph`, which must be static, in consensus control by rounds (consensus_control.cpp):
/// averaging is repeated until the consensus distance is below the target of `spec`. Throws
/// UserError.
std::unique_ptr<Schedule> control_consensus(const ConsensusTargetSpec& spec,
                                            std::shared_ptr<const Schedule> graph,
                                            const RunFacts& run);

/// Returns a short label of a resolved graph object: its type and the values that differ from the
/// defaults, such as "ring_lattice k=10"; the title of a list.
std::string graph_label(const base::Json& spec);

/// Returns a title such as "ring", or "ring_lattice, one_peer_exponential" for a list.
std::string graph_title(const base::Json& spec);

}  // namespace dbench::graphs
