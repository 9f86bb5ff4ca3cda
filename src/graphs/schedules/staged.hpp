#pragma once
// Schedules that go from graph to graph: lists with `until`, and controllers, which plan ahead or
// decide from what is measured.

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

/// What can be measured in iteration t. The dispersion measures (docs/numerics.md) are over
/// the replicas' norms of each tensor just before averaging; variance is per tensor, over replicas
/// and elements; consensus_distance is one number; step_time is seconds of each replica's own
/// work, waiting left out.
enum class Measure {
    gini,
    index_of_dispersion,
    coefficient_of_variation,
    quartile_coefficient,
    variance,
    consensus_distance,
    step_time
};

struct Wish {
    Measure measure;
    bool weights_only = false;              ///< tensors of kind weight (no biases, no norms)
    std::vector<std::string> tensors = {};  ///< names, * stands for any text; empty: all
};

/// One graph after another. Which one iteration t uses is known from iteration t on at the latest,
/// and never changes afterwards. Safe to ask from other threads.
class Staged : public Schedule {
public:
    /// Graph number `graph` is used from iteration `first` on.
    struct Stage {
        int64_t first;
        size_t graph;
        std::string reason;
        int64_t before = 0;  ///< iterations that used this graph in earlier stages
    };

    explicit Staged(int n) : n_(n) {}

    int size() const override { return n_; }
    /// A graph starts with its round 0, and goes on where it stopped when it comes back.
    Round at(int64_t t) const override;
    /// Round number `use` of graph number `graph`.
    Round nth(size_t graph, int64_t use) const;
    std::vector<Link> in(Round round, int i) const override;
    std::vector<Link> out(Round round, int i) const override;
    std::vector<std::vector<int>> groups(Round round) const override;
    std::shared_ptr<const Matrix> matrix(Round round) const override;
    int64_t period() const override { return 0; }
    Staged* staged() override { return this; }

    /// Stages so far, in order; the first begins at 0.
    std::vector<Stage> stages() const;
    Stage stage(size_t number) const;
    /// The number of the stage that iteration t is in.
    size_t stage_of(int64_t t) const;
    std::string name(size_t graph) const;
    const Schedule& graph(size_t graph) const;
    size_t graphs() const;
    /// What decisions rest on; null: all stages are planned.
    virtual std::optional<Wish> wish() const { return std::nullopt; }
    /// Iterations from one measurement to the next; 0: nothing is ever measured.
    virtual int64_t measured_every() const { return 0; }
    /// Whether `decide` is to be told it in iteration t: (t + 1) mod measured_every() = 0.
    bool due(int64_t t) const { return measures_by(t + 1) && (t + 1) % measured_every() == 0; }
    /// Whether some iteration before t is due.
    bool measures_by(int64_t t) const { return measured_every() > 0 && measured_every() <= t; }
    /// What was measured in iteration t (a value per tensor, replica, or one), the same on all
    /// ranks: may set the graph from t + 1 on.
    virtual void decide(int64_t, std::span<const double>) {}

    /// Whether averagings may be repeated in iterations that are measured.
    virtual bool repeats() const { return false; }
    /// Whether `mix_again` is to be asked after the averaging of iteration t.
    bool may_repeat(int64_t t) const { return repeats() && due(t); }
    /// After `rounds` averagings in iteration t that took the consensus distance from `before` to
    /// `after`: whether to average once more with the same W. The same on all ranks.
    virtual bool mix_again(int64_t, int /*rounds*/, double /*before*/, double /*after*/) {
        return false;
    }

    /// What is unusual about the plan, for people.
    virtual std::vector<std::string> warnings() const { return {}; }
    /// Of a controller that has not acted up to the end of a run, why, for people; else empty.
    virtual std::string idle() const { return ""; }

    /// Why it is of no use as a part of another graph; empty: it is.
    virtual std::string alone() const {
        return wish() ? "decides during the run by what is measured" : "";
    }

    /// All that decisions rest on, as text; `restore` continues from it in a fresh copy.
    std::string save() const;
    void restore(const std::string& saved);

protected:
    /// Adds a graph that stages can name and that is no Staged itself (`follow` is for those);
    /// `name` is for people, such as "ring_lattice k=8".
    size_t add(std::string name, std::shared_ptr<const Schedule> graph);
    /// From iteration t on (after all stages so far): graph number `graph`, for `reason`. Nothing
    /// where it is the present one.
    void go_to(int64_t t, size_t graph, const std::string& reason);
    size_t last_graph() const;
    /// From iteration `first` on, up to `end`: the graphs of a plan in the iterations it has them.
    void follow(const Staged& plan, int64_t first, int64_t end);

    /// The controller's own numbers, for save and restore.
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
    Round named(size_t graph, int64_t use) const;
    void append(Stage stage);

    int n_;
    mutable std::mutex mutex_;
    std::deque<Named> graphs_;
    std::vector<Stage> stages_;
    std::vector<int64_t> used_;  // per graph, iterations in ended stages
};

/// What the schedule goes through, where it goes from graph to graph by a plan; null where it is
/// one graph. Throws UserError where it cannot be a part of another graph (Staged::alone).
const Staged* plan_of(const Schedule& schedule, const std::string& pointer);

/// A list of graphs, each but the last with `until`, a duration from the start of the run.
/// `entries` is the resolved list. Throws UserError where the ends do not rise.
std::unique_ptr<Schedule> make_list(const base::Json& entries, const GraphContext& context,
                                    const std::string& pointer);

/// The graph under consensus control by rounds (consensus_control.cpp): averaging is repeated until
/// the consensus distance is under a target. `spec` has the keys of the parameters; `graph` is
/// static. Throws UserError.
std::unique_ptr<Schedule> control_consensus(const base::Json& spec,
                                            std::shared_ptr<const Schedule> graph,
                                            const RunFacts& run);
std::vector<base::Parameter> consensus_control_parameters();

/// A resolved graph object in a few words: its type and what differs from the defaults, such as
/// "ring_lattice k=10".
std::string graph_label(const base::Json& spec);

/// "ring", or "ring_lattice, one_peer_exponential" for a list.
std::string graph_title(const base::Json& spec);

}  // namespace dbench::graphs
