// The graph `participation`: in iteration t only a set A_t of replicas exchanges over a given
// graph. The weight of a missing neighbour is added to the replica's own weight, so W stays
// symmetric and doubly stochastic:
//
//     W'_ij = W_ij if i and j are in A_t,    W'_ii = 1 - sum_{j != i} W'_ij
//
// |A_t| = round(fraction n), at least 1. By `policy` the set is drawn in every iteration (random),
// the next in order (round_robin), or all but the slowest replicas (slowest). It applies the
// partial participation of federated averaging (McMahan et al. 2017) to a graph.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/duration.hpp"
#include "base/random.hpp"
#include "graphs/matrix/sparse.hpp"
#include "graphs/schedules/staged.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

constexpr int64_t kParticipationLongest = 4096;

// A symmetric W without the links of idle replicas. Their weight is added to their peers' own
// weights, so the result is symmetric and doubly stochastic.
class Masked final : public Matrix {
public:
    Masked(MatrixPtr matrix, std::vector<bool> active)
        : matrix_(std::move(matrix)), active_(std::move(active)) {}

    int size() const override { return matrix_->size(); }
    std::vector<Link> in(int i) const override {
        if (!active_[i]) return {{i, 1.0}};
        std::vector<Link> links;
        double kept = 0;
        size_t self = 0;
        for (const Link& link : matrix_->in(i)) {
            if (link.peer == i) self = links.size();
            if (link.peer != i && !active_[link.peer]) kept += link.weight;
            if (link.peer == i || active_[link.peer]) links.push_back(link);
        }
        links[self].weight += kept;
        return links;
    }
    std::vector<Link> out(int i) const override { return in(i); }  // the matrix is symmetric

private:
    MatrixPtr matrix_;
    std::vector<bool> active_;
};

/// Returns the graph in which only the `active` replicas ever exchange.
std::unique_ptr<Schedule> masked(const std::shared_ptr<const Schedule>& graph,
                                 const std::vector<bool>& active) {
    const auto at = [graph, active](int64_t t) -> MatrixPtr {
        return std::make_shared<Masked>(graph->matrix(graph->at(t)), active);
    };
    const int64_t period = graph->period();
    if (period == 0 || period > kParticipationLongest)
        return random_sequence(graph->size(), at, -1);
    std::vector<MatrixPtr> matrices;
    for (int64_t t = 0; t < period; ++t) matrices.push_back(at(t));
    return cyclic_schedule(std::move(matrices));
}

/// Leaves out the slowest replicas, by the time of their last measured step.
class SlowestOut final : public StagedSchedule {
public:
    SlowestOut(std::shared_ptr<const Schedule> graph, int64_t count, int64_t every)
        : StagedSchedule(graph->size()), graph_(std::move(graph)), count_(count), every_(every) {
        start_stage(0, number(std::vector<bool>(size(), true)), "start: no step measured yet");
    }

    std::optional<MeasureRequest> measure_request() const override {
        return MeasureRequest{Measure::step_time};
    }
    int64_t measured_every() const override { return every_; }
    void decide(int64_t t, std::span<const double> seconds) override {
        std::vector<int> order(seconds.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](int a, int b) { return seconds[a] < seconds[b]; });
        std::vector<bool> active(order.size(), false);
        std::string left_out;
        for (int64_t k = 0; k < static_cast<int64_t>(order.size()); ++k) {
            if (k < count_) active[order[k]] = true;
        }
        for (size_t i = 0; i < active.size(); ++i) {
            if (!active[i]) left_out.append(" ").append(std::to_string(i));
        }
        start_stage(t + 1, number(active), "left out as slowest:" + left_out);
    }

protected:
    std::vector<double> numbers() const override {
        std::vector<double> all;
        for (const auto& active : sets_) all.insert(all.end(), active.begin(), active.end());
        return all;
    }
    void set_numbers(const std::vector<double>& saved) override {
        for (size_t at = 0; at < saved.size(); at += static_cast<size_t>(size())) {
            std::vector<bool> active;
            for (int i = 0; i < size(); ++i) active.push_back(saved.at(at + size_t(i)) != 0);
            number(active);
        }
    }

private:
    /// Returns the number of the graph in which these replicas exchange; adds it if it is new.
    size_t number(const std::vector<bool>& active) {
        const auto known = std::find(sets_.begin(), sets_.end(), active);
        if (known != sets_.end()) return static_cast<size_t>(known - sets_.begin());
        sets_.push_back(active);
        const auto some = std::count(active.begin(), active.end(), true);
        return add(std::to_string(some) + " of " + std::to_string(size()) + " replicas",
                   masked(graph_, active));
    }

    std::shared_ptr<const Schedule> graph_;
    int64_t count_, every_;
    std::vector<std::vector<bool>> sets_;  // active replicas of each graph, by number
};

enum class Policy : uint8_t { random, round_robin, slowest };

struct ParticipationSpec {
    base::Json graph;  ///< The undirected graph in which replicas take part.
    double fraction;   ///< Share of replicas that exchange.
    Policy policy;
    base::Duration every;  ///< Policy slowest: between measurements of the step.

    static const base::Section<ParticipationSpec>& section();
};

const base::Section<ParticipationSpec>& ParticipationSpec::section() {
    static const base::Section<ParticipationSpec> keys{
        {base::Parameter::of("graphs", "graph", "\"ring\"",
                             "the undirected graph in which replicas take part", resolve_graph),
         &ParticipationSpec::graph},
        {base::Parameter::number("fraction", "0.5", "share of replicas that exchange")
             .greater_than(0)
             .at_most(1),
         &ParticipationSpec::fraction},
        {base::Words<Policy>("policy",
                             {{"random", Policy::random},
                              {"round_robin", Policy::round_robin},
                              {"slowest", Policy::slowest}},
                             Policy::random,
                             "which: drawn anew, the next ones in order, or all but the slowest"),
         &ParticipationSpec::policy},
        {base::Parameter::duration("every", R"({"iterations": 10})",
                                   "slowest: between measurements of the step")
             .greater_than(0),
         &ParticipationSpec::every},
    };
    return keys;
}

/// Throws UserError if a matrix of the graph is not symmetric. Checks all matrices that are known
/// in advance, and the first ones of a sequence without an end.
void require_symmetric(const Schedule& graph, const std::string& pointer) {
    constexpr int64_t kFirst = 64;
    std::vector<Round> rounds = graph.rounds();
    if (rounds.empty()) {
        const int64_t period = graph.period();
        const int64_t count = period > 0 ? std::min(period, kParticipationLongest) : kFirst;
        for (int64_t t = 0; t < count; ++t) rounds.push_back(graph.at(t));
    }
    for (const Round round : rounds) {
        if (is_symmetric(*graph.matrix(round))) continue;
        throw base::UserError(pointer +
                              ": participation needs symmetric matrices (leaving replicas out of a "
                              "directed graph would bias the average): use an undirected graph "
                              "such as ring or torus");
    }
}

std::unique_ptr<Schedule> make_participation(const ParticipationSpec& spec,
                                             const GraphContext& context,
                                             const std::string& pointer) {
    const int n = context.n;
    const std::shared_ptr<const Schedule> graph =
        make_graph(spec.graph, context, pointer + "/graph");
    const StagedSchedule* plan = plan_of(*graph, pointer + "/graph");
    if (plan && spec.policy == Policy::slowest) {
        throw base::UserError(pointer +
                              "/graph: changes from graph to graph, which policy slowest does not "
                              "support: use one graph, or the policy random or round_robin");
    }
    if (plan) {
        for (size_t k = 0; k < plan->graphs(); ++k) {
            require_symmetric(plan->graph(k), pointer + "/graph");
        }
    } else {
        require_symmetric(*graph, pointer + "/graph");
    }
    const auto count = std::clamp<int64_t>(std::llround(spec.fraction * n), 1, n);
    if (spec.policy == Policy::slowest) {
        if (count < 2 && n > 1) {
            throw base::UserError(pointer + "/fraction: " + std::to_string(count) + " of " +
                                  std::to_string(n) +
                                  " replicas would take part, and exchange nothing: let at least "
                                  "two replicas take part");
        }
        return std::make_unique<SlowestOut>(graph, count,
                                            base::to_iterations(spec.every, context.run));
    }
    const bool in_order = spec.policy == Policy::round_robin;
    const auto draw = [=, seed = context.seed](int64_t t) -> MatrixPtr {
        std::vector<bool> active(n, false);
        if (in_order) {
            for (int64_t k = 0; k < count; ++k) active[(t % n * count + k) % n] = true;
        } else {
            base::Random random(seed, base::Purpose::participation, {static_cast<uint64_t>(t)});
            const auto order = base::permutation(n, random);
            for (int64_t k = 0; k < count; ++k) active[order[k]] = true;
        }
        return std::make_shared<Masked>(graph->matrix(graph->at(t)), std::move(active));
    };
    const int64_t turn = n / std::gcd<int64_t>(n, count);
    const int64_t period = in_order && graph->period() > 0 ? std::lcm(turn, graph->period()) : 0;
    if (period == 0 || period > kParticipationLongest) return random_sequence(n, draw, -1, graph);
    std::vector<MatrixPtr> matrices;
    for (int64_t t = 0; t < period; ++t) matrices.push_back(draw(t));
    return cyclic_schedule(std::move(matrices));
}

}  // namespace

GraphEntry participation_entry() {
    return mark_run_dependent(
        {"participation",
         "a graph in which only some replicas exchange per iteration, the others idle",
         make_participation});
}

}  // namespace dbench::graphs
