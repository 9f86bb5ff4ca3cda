// Ranks without local models to evaluate wait for the ranks that have some.

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "catch.hpp"
#include "comm/environment.hpp"
#include "comm/ranks.hpp"
#include "train/evaluation/evaluation.hpp"
#include "train/models/layers/layers.hpp"
#include "train/replicas.hpp"

namespace dbench::train::tests {
namespace {

constexpr int64_t kEvaluatedSamples = 100;

/// Softmax regression that takes 40 ms for a batch.
class SlowModel : public Model {
public:
    explicit SlowModel(const data::Dataset& set)
        : linear_(declaration_, "", data::numel(set.shape()), set.classes()) {}

    torch::Tensor forward(const Weights& weights, const torch::Tensor& x, bool) const override {
        std::this_thread::sleep_for(std::chrono::milliseconds(40));
        return linear_(weights, x.flatten(1));
    }

private:
    Linear linear_;
};

}  // namespace

TEST_CASE("An evaluation on a part of the ranks may take longer than a wait") {
    const comm::tests::Environment timeout("DBENCH_TIMEOUT", "1");
    const auto outcome = comm::tests::play(2, [](comm::World& world) -> std::string {
        const comm::Placement placement{2, 2};
        const data::DataSets data = data::load_data(
            data::resolve_data({{"type", "shapes"}, {"train", 300}, {"test", kEvaluatedSamples}},
                               "/data"),
            {placement.replicas, 1});
        const SlowModel model(*data.test);
        Replicas replicas(model, placement, world.rank(), arena::DType::float32, Init::same, 3);
        comm::Exchange exchange(world, placement, replicas.layout(), nullptr,
                                comm::Reduction::reproducible);
        EvaluationPlan plan;
        plan.replicas = {1};
        plan.batch_size = 1;
        Evaluator evaluator(world, placement, model, replicas, exchange, data, plan);
        algorithms::EvaluationRecord record;
        // Rank 0 waits for 4 s, longer than its deadline and the time to answer questions.
        evaluator.evaluate(replicas.x(), record);
        world.barrier();
        if (world.rank() != 0) return "";
        return record.test.local_loss.size() == 1 ? "" : "a score is missing";
    });
    CHECK(outcome == std::vector<std::string>(2, ""));
}

}  // namespace dbench::train::tests
