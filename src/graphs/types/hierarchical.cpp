// Two-level graphs, for nodes of L = gpus_per_node replicas: replica a L + b is place b of node a.
//
//     hierarchical   W_t = outer_t (x) inner_t, the Kronecker product of a graph of the nodes and
//                    a graph of a node's replicas
//     aer            alternating exponential ring (the Decent-DP library; Wang et al., ICLR 2025,
//                    arXiv 2410.11998): the rounds of the one-peer hypercube between nodes. Each
//                    round takes two steps: in one of them a pair of nodes averages internally, in
//                    the other across both nodes (weights 1 / (2 L)). If the number of nodes is not
//                    a power of two, the rounds of Base-2 are used (this project's extension).

#include <map>
#include <nlohmann/json.hpp>

#include "graphs/matrix/kron.hpp"
#include "graphs/schedules/staged.hpp"
#include "graphs/schedules/use_pattern.hpp"
#include "graphs/types/base_graph.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

constexpr int64_t kHierarchicalLongest = 4096;  // most rounds of a sequence that is kept as a list

base::Parameter gpus_parameter() {
    return base::Parameter::integer("gpus_per_node", "1", "replicas on a node").at_least(1);
}

struct HierarchicalSpec : LazySpec {
    int64_t gpus_per_node;
    base::Json inner;  ///< Graph of a node's replicas.
    base::Json outer;  ///< Graph of the nodes.

    static const base::Section<HierarchicalSpec>& section();
};

const base::Section<HierarchicalSpec>& HierarchicalSpec::section() {
    static const base::Section<HierarchicalSpec> keys{
        {{gpus_parameter(), &HierarchicalSpec::gpus_per_node},
         {base::Parameter::of("graphs", "inner", "\"complete\"", "graph of a node's replicas",
                              resolve_graph),
          &HierarchicalSpec::inner},
         {base::Parameter::of("graphs", "outer", "\"ring\"", "graph of the nodes", resolve_graph),
          &HierarchicalSpec::outer}},
        LazySpec::section()};
    return keys;
}

struct AerSpec {
    int64_t gpus_per_node;

    static const base::Section<AerSpec>& section();
};

const base::Section<AerSpec>& AerSpec::section() {
    static const base::Section<AerSpec> keys{
        {gpus_parameter(), &AerSpec::gpus_per_node},
    };
    return keys;
}

// Returns the number of replicas on a node, `count`, or throws UserError if n is no multiple of it.
int places(const std::string& name, int64_t count, const GraphContext& context,
           const std::string& pointer) {
    if (context.n == 1) return 1;
    const auto admits = [count](int64_t n) { return n % count == 0; };
    if (!admits(context.n)) {
        refuse_size(name + " with gpus_per_node = " + std::to_string(count),
                    "n must be a multiple of it", context.n, admits, pointer);
    }
    return static_cast<int>(count);
}

using SchedulePtr = std::shared_ptr<const Schedule>;

// Returns W_t = outer_t (x) inner_t of two schedules without stages.
std::unique_ptr<Schedule> product(const SchedulePtr& outer, const SchedulePtr& inner,
                                  double theta) {
    const auto draw = [outer, inner, theta](int64_t t) {
        return lazy_matrix(kronecker(outer->matrix(outer->at(t)), inner->matrix(inner->at(t))),
                           theta);
    };
    const int64_t period = common_period(inner->period(), outer->period());
    if (period == 0 || period > kHierarchicalLongest)
        return random_sequence(outer->size() * inner->size(), draw, -1);
    std::vector<MatrixPtr> matrices;
    for (int64_t t = 0; t < period; ++t) matrices.push_back(draw(t));
    return cyclic_schedule(std::move(matrices));
}

/// A level of the hierarchy: one graph, or several by a plan.
struct Level {
    SchedulePtr schedule;
    std::string label;
    const StagedSchedule* plan;  // null: one graph

    Level(const base::Json& spec, const GraphContext& context, const std::string& pointer)
        : schedule(make_graph(spec, context, pointer)),
          label(graph_label(spec)),
          plan(plan_of(*schedule, pointer)) {}

    size_t graph_in(int64_t t) const { return plan ? plan->stage(plan->stage_of(t)).graph : 0; }
    std::string name(size_t graph) const { return plan ? plan->name(graph) : label; }
    SchedulePtr graph(size_t number) const {
        return plan ? SchedulePtr(schedule, &plan->graph(number)) : schedule;
    }
};

// A schedule of the product, which changes when one of its levels changes.
class ByPlan final : public StagedSchedule {
public:
    ByPlan(const Level& outer, const Level& inner, double theta)
        : StagedSchedule(outer.schedule->size() * inner.schedule->size()) {
        std::map<int64_t, std::string> changes;  // by iteration, the reasons
        for (const Level* level : {&outer, &inner}) {
            if (!level->plan) continue;
            for (const Stage& stage : level->plan->stages()) {
                std::string& reason = changes[stage.first];
                if (reason != stage.reason) reason += (reason.empty() ? "" : ", ") + stage.reason;
            }
        }
        std::map<std::pair<size_t, size_t>, size_t> known;
        for (const auto& [t, reason] : changes) {
            const size_t o = outer.graph_in(t), i = inner.graph_in(t);
            if (!known.contains({o, i})) {
                known[{o, i}] = add(outer.name(o) + " (x) " + inner.name(i),
                                    product(outer.graph(o), inner.graph(i), theta));
            }
            start_stage(t, known[{o, i}], reason);
        }
    }
};

// Every iteration averages inside the nodes and between them.
std::unique_ptr<Schedule> make_hierarchical(const HierarchicalSpec& spec,
                                            const GraphContext& context,
                                            const std::string& pointer) {
    const int inside = places("hierarchical", spec.gpus_per_node, context, pointer);
    GraphContext within = context, between = context;
    within.n = inside;
    between.n = context.n / inside;
    const Level inner(spec.inner, within, pointer + "/inner");
    const Level outer(spec.outer, between, pointer + "/outer");
    if (inner.plan || outer.plan) return std::make_unique<ByPlan>(outer, inner, spec.lazy);
    return product(outer.schedule, inner.schedule, spec.lazy);
}

// Alternating exponential ring: the rounds of an exact sequence of node pairs (the one-peer
// hypercube if their number is a power of two). Every other pair first averages inside its nodes
// and then across both; the remaining pairs do it in the opposite order, so only half of the pairs
// use the network at a time.
std::unique_ptr<Schedule> make_aer(const AerSpec& spec, const GraphContext& context,
                                   const std::string& pointer) {
    const int inside = places("aer", spec.gpus_per_node, context, pointer);
    const int nodes = context.n / inside;
    const MatrixPtr inner = uniform_weights(complete_topology(inside));
    std::vector<MatrixPtr> matrices;
    size_t counter = 0;  // counts pairs over all rounds
    for (const WeightedRound& round : base_graph(nodes, 1)) {
        std::vector<MatrixEntry> steps[2];
        for (auto& step : steps) {
            for (int node = 0; node < nodes; ++node) step.push_back({node, node, 1.0});
        }
        for (const auto& [a, b, weight] : round) {
            auto& step =
                steps[counter++ % 2 == 0 ? 1
                                         : 0];  // the step in which this pair averages across nodes
            for (const int node : {a, b}) {
                step.push_back({node, node, -weight});
                step.push_back({node, node == a ? b : a, weight});
            }
        }
        for (auto& step : steps) {
            matrices.push_back(kronecker(explicit_matrix(nodes, std::move(step)), inner));
        }
    }
    if (matrices.empty()) matrices.push_back(inner);  // one node
    return cyclic_schedule(std::move(matrices));
}

}  // namespace

GraphEntry hierarchical_entry() {
    return mark_run_dependent(
        {"hierarchical", "a graph inside the nodes times a graph between them, in every iteration",
         make_hierarchical});
}

GraphEntry aer_entry() {
    return {"aer",
            "alternating exponential ring: node pairs in turn, half of them on the "
            "network at a time; exact after its period",
            make_aer};
}

}  // namespace dbench::graphs
