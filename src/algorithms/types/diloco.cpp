// DiLoCo (Douillard et al. 2023, arXiv 2311.08105, algorithm 1): H local steps from theta, then
// Nesterov momentum on the mean change (as in torch.optim.SGD):
//
//     D = theta - mean_j x_j;   v <- mu v + D;   theta <- theta - eta (D + mu v);   x <- theta
//
// Streaming DiLoCo (Douillard et al. 2025, arXiv 2501.18512, not yet checked against its text;
// code: meta-pytorch/torchft, local_sgd.py): F fragments of consecutive tensors take turns, one
// every H/F iterations. With a delay of tau iterations, x_j is the value tau iterations ago, and
// its averaging overlaps with the local steps since then. alpha keeps a share of these local steps:
//
//     x <- (1 - alpha) theta + alpha x
//
// On a graph that is not complete, each replica has its own theta_i and v_i, and W replaces the
// mean: D_i = theta_i - sum_j w_ij x_j (our reading; with mu = 0, eta = 1 it is local_sgd).
//
// With G = gpus_per_node > 1, the replicas of a node (G consecutive ones) average their parameters
// in all other iterations: DiLoCo runs between nodes, and an all-reduce inside each node.
//
// * State: theta and v; with a delay, also the sent rows.
// * Sends: the columns of one fragment per neighbour and exchange.
// * Requires: H divisible by F; tau < H/F; with G > 1 neither fragments nor a delay.

#include "algorithms/delayed_mix.hpp"
#include "algorithms/entries.hpp"
#include "graphs/schedules/selection.hpp"

namespace dbench::algorithms {
namespace {

struct DiLoCoSpec : PeriodSpec {
    double outer_lr, outer_momentum;
    int64_t fragments, delay;
    double alpha;
    int64_t gpus_per_node;

    static const base::Section<DiLoCoSpec>& section();
};

const base::Section<DiLoCoSpec>& DiLoCoSpec::section() {
    using P = base::Parameter;
    static const base::Section<DiLoCoSpec> keys{
        {period_parameter("50"), &DiLoCoSpec::period},
        {P::number("outer_lr", "0.7", "learning rate of the outer step").at_least(0),
         &DiLoCoSpec::outer_lr},
        {P::number("outer_momentum", "0.9", "momentum of the outer step").at_least(0).at_most(1),
         &DiLoCoSpec::outer_momentum},
        {P::integer("fragments", "1", "number of parts that are exchanged in turn").at_least(1),
         &DiLoCoSpec::fragments},
        {P::integer("delay", "0", "iterations from sending to using an average").at_least(0),
         &DiLoCoSpec::delay},
        {P::number("alpha", "0", "share of the local parameters that an outer step keeps")
             .at_least(0)
             .at_most(1),
         &DiLoCoSpec::alpha},
        {P::integer("gpus_per_node", "1",
                    "consecutive replicas per node, which average in every other iteration")
             .at_least(1),
         &DiLoCoSpec::gpus_per_node},
    };
    return keys;
}

/// Divides the tensors, in their order, into parts with about the same number of elements. Throws
/// UserError if there are fewer tensors than parts.
std::vector<arena::Columns> fragments_of(const arena::Layout& layout, int64_t parts) {
    const auto& tensors = layout.tensors();
    const auto count = static_cast<int64_t>(tensors.size());
    if (parts > count) {
        throw base::UserError("/algorithm/fragments: the model has only " + std::to_string(count) +
                              " tensors, and a fragment consists of whole tensors: choose fewer "
                              "fragments");
    }
    std::vector<arena::Columns> fragments;
    int64_t next = 0, elements = 0;
    for (int64_t f = 0; f < parts; ++f) {
        const int64_t first = next, left = parts - 1 - f;
        do {
            elements += tensors[next++].numel;
        } while (next < count - left && elements * parts < layout.numel() * (f + 1));
        fragments.push_back(
            {tensors[first].offset, left > 0 ? tensors[next].offset : layout.columns()});
    }
    return fragments;
}

class DiLoCo final : public MixingAlgorithm {
public:
    DiLoCo(const DiLoCoSpec& spec, const AlgorithmContext& context)
        : MixingAlgorithm(context.schedule),
          layout_(*context.layout),
          fragments_(fragments_of(layout_, spec.fragments)),
          every_(spec.period / spec.fragments),
          delay_(spec.delay),
          eta_(spec.outer_lr),
          mu_(spec.outer_momentum),
          alpha_(spec.alpha),
          nodes_(spec.gpus_per_node > 1),
          delayed_mix_(context.schedule, delay_) {}

    void declare(arena::StateTable& state) override {
        theta_ = state.rows("algorithm/anchor");
        v_ = state.rows("algorithm/outer_momentum");
        if (delay_ > 0) sent_ = state.rows("algorithm/sent");
    }
    void before_forward(Step& step) override {
        if (step.t == 0) step.copy(step.x, theta_, step.layout.all());
    }
    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }
    void after_backward(Step& step) override {
        const arena::Rows mixed = step.g;  // The gradient is no longer needed.
        step.probe.about_to_average(step.x);
        if (nodes_ && !sends(step.t)) return average_nodes(step, mixed);
        if (delay_ > 0 && sends(step.t)) {
            step.copy(step.x, sent_, fragment(step.t));
            delayed_mix_.start(step, sent_, fragment(step.t));
        }
        const int64_t then = step.t - delay_;  // Iteration that sent the rows to be used now.
        if (then < 0 || !sends(then)) return step.probe.averaged(step.x);
        const arena::Columns columns = fragment(then);
        const bool at_once = delay_ == 0 && fragments_.size() == 1;
        if (delay_ == 0) delayed_mix_.start(step, step.x, columns);
        delayed_mix_.finish(step, delay_ == 0 ? step.x : sent_, mixed, columns);
        if (at_once) step.probe.averaged(mixed);
        outer(step, mixed, columns);
        if (!at_once) step.probe.averaged(step.x);
    }
    Sent sent(int64_t t, graphs::Round round) const override {
        Sent all = rows_sent(round, 1);
        if (fragments_.size() == 1 || !all.averaged) return all;
        const double share = static_cast<double>(layout_.numel_in(fragment(t))) /
                             static_cast<double>(layout_.numel());
        all.rows *= share;
        all.gathered *= share;
        return all;
    }

private:
    bool sends(int64_t t) const { return (t + 1 + delay_) % every_ == 0; }
    /// Returns the fragment that is sent in iteration t; t must be an iteration that sends.
    arena::Columns fragment(int64_t t) const {
        const int64_t turn = (t + 1 + delay_) / every_ - 1;
        return fragments_[static_cast<size_t>(turn) % fragments_.size()];
    }
    void average_nodes(Step& step, arena::Rows mixed) {
        step.mix(step.x, mixed);
        step.probe.averaged(mixed);
        step.copy(mixed, step.x, step.layout.all());
    }
    void outer(Step& step, arena::Rows mixed, arena::Columns columns) {
        step.combine(mixed, {{1, theta_}, {-1, mixed}}, columns);  // D
        step.combine(v_, {{mu_, v_}, {1, mixed}}, columns);
        step.combine(theta_, {{1, theta_}, {-eta_, mixed}, {-eta_ * mu_, v_}}, columns);
        if (alpha_ == 0) return step.copy(theta_, step.x, columns);
        step.combine(step.x, {{1 - alpha_, theta_}, {alpha_, step.x}}, columns);
    }

    const arena::Layout& layout_;
    std::vector<arena::Columns> fragments_;
    int64_t every_, delay_;
    double eta_, mu_, alpha_;
    bool nodes_;
    DelayedMix delayed_mix_;
    arena::Rows theta_, v_, sent_;
};

std::unique_ptr<Algorithm> make_diloco(const DiLoCoSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<DiLoCo>(spec, context);
}

std::unique_ptr<graphs::Schedule> schedule_diloco(const DiLoCoSpec& spec,
                                                  std::shared_ptr<const graphs::Schedule> graph,
                                                  const graphs::RunFacts&) {
    const int n = graph->size();
    const int64_t every = spec.period / spec.fragments, node = spec.gpus_per_node;
    return graphs::periodic_schedule(
        std::move(graph),
        node > 1 ? graphs::node_average(n, node) : graphs::no_exchange_schedule(n), every, 0,
        spec.delay);
}

void refine_diloco(const DiLoCoSpec& spec, Traits& traits) {
    traits.keeps_received_rows = spec.delay > 0;
}

void check_turns(const DiLoCoSpec& spec, const std::string& pointer) {
    const int64_t period = spec.period, parts = spec.fragments;
    if (spec.gpus_per_node > 1 && (parts > 1 || spec.delay > 0)) {
        throw base::UserError(pointer +
                              "/gpus_per_node: nodes average all parameters in every iteration "
                              "(no other averaging may be in flight): leave out fragments and "
                              "delay");
    }
    if (period % parts != 0) {
        throw base::UserError(pointer +
                              "/fragments: must divide period (one fragment is exchanged every "
                              "period / fragments iterations; found " +
                              std::to_string(period) + " / " + std::to_string(parts) +
                              "): choose a divisor of period");
    }
    if (spec.delay < period / parts) return;
    throw base::UserError(
        pointer + "/delay: must be below period / fragments = " + std::to_string(period / parts) +
        " (an averaging ends before the next one begins): lower it");
}

}  // namespace

AlgorithmEntry diloco_entry() {
    return {"diloco",
            "local steps, then an outer Nesterov step on the mean change",
            make_diloco,
            {.mean = MeanRule::none, .bias = Bias::none, .plain_alone = false},
            {.schedule = schedule_diloco, .check = check_turns, .refine = refine_diloco}};
}

}  // namespace dbench::algorithms
