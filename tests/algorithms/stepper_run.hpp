#pragma once
// Helper: replicas whose steps run without a model.

#include <memory>
#include <nlohmann/json.hpp>

#include "algorithms/step/stepper.hpp"
#include "comm/placement.hpp"
#include "comm/world/world.hpp"

namespace dbench::algorithms::tests {

constexpr int64_t kReplicas = 8, kParameters = 1 << 15;

class SilentObserver final : public Observer {
public:
    void iteration(const IterationRecord&) override {}
    void evaluation(const EvaluationRecord&) override {}
    void event(int64_t, const std::string&, const std::string&) override {}
};

inline arena::Layout one_tensor() {
    arena::Layout layout;
    layout.add("w", {kParameters}, arena::TensorKind::weight);
    return layout;
}

/// Eight replicas over the world's ranks, on a graph that suits the algorithm or on a given one.
struct Run {
    comm::Placement placement;
    arena::Layout layout = one_tensor();
    arena::StateTable table;
    arena::Rows x = table.declare_parameters();
    arena::Buffer g = table.scratch();
    std::unique_ptr<Stepper> stepper;

    Run(comm::World& world, const AlgorithmEntry& row, const base::Json& algorithm,
        const base::Json& optimizer, std::shared_ptr<graphs::Schedule> graph = nullptr,
        Minibatch minibatch = {}, arena::ElementCodec message = arena::ElementCodec::identity,
        ProfilePlan profile = {})
        : placement{kReplicas, world.size()},
          table(arena::DType::float32, placement.begin(world.rank()), placement.count(world.rank()),
                layout.columns()) {
        using base::Json;
        const graphs::RunFacts run{100, 10, kReplicas, 4.0 * kParameters};
        if (!graph && row.traits.graph != GraphNeed::none) {
            const Json spec = row.traits.graph == GraphNeed::tree
                                  ? Json("path")
                                  : Json{{"type", "ring"}, {"lazy", 0.5}};
            graph = graphs::make_graph(spec, {kReplicas, 1, run});
        }
        StepSpec spec{row, algorithm, optimizer, run, 0.1};
        spec.minibatch = minibatch;
        spec.message = message;
        spec.profile = profile;
        stepper = std::make_unique<Stepper>(world, placement, layout, spec,
                                            RunSchedule(graph, row, algorithm, run));
    }
};

}  // namespace dbench::algorithms::tests
