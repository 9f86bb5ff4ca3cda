// The spec's own sections: defaults, every allowed value, and errors; and plans in iterations.

#include "train/spec/run_spec.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"
#include "data/dataset.hpp"
#include "train/device/device.hpp"
#include "train/run/run_plan.hpp"

namespace dbench::train {
namespace {

using base::Json;
using Catch::Matchers::ContainsSubstring;

RunSpec read(const char* changes = "{}") {
    Json given = {{"name", "test"}, {"replicas", 4}};
    given.update(Json::parse(changes));
    const auto& keys = RunSpec::section();
    return keys.read(base::resolve_object(given, "", keys.parameters()));
}

std::string refusal(const char* changes) {
    try {
        read(changes);
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("An empty spec has the documented defaults") {
    const RunSpec spec = read();
    CHECK(spec.name == "test");
    CHECK(spec.seed.init == 1);
    CHECK(spec.precision == arena::DType::float32);
    CHECK(spec.compute == Compute::precision);
    CHECK(spec.stacking == Stacking::off);
    CHECK(spec.share_gpus == GpuSharing::refused);
    CHECK(spec.capture == Capture::automatic);
    CHECK(spec.init == Init::same);
    CHECK(spec.reduction == ReductionChoice::automatic);
    CHECK_FALSE(spec.stop_on_nonfinite);
    CHECK_FALSE(spec.allow_biased);
    CHECK(spec.evaluate.replicas == 8);
    CHECK_FALSE(spec.evaluate.recalibrate);
    CHECK(spec.evaluate.batch_size == 256);
    CHECK(spec.delays.empty());
    CHECK(spec.profile.norms);
    CHECK(spec.profile.variance.exact);
    CHECK_FALSE(spec.profile.after);
    CHECK(spec.profile.graphs == 256);
    CHECK_FALSE(spec.checkpoint.every);
    CHECK(spec.checkpoint.keep == 2);
    CHECK(spec.checkpoint.replicas == ReplicaCountChange::refuse);
    CHECK(spec.output == "results/{name}.h5");
}

TEST_CASE("Every allowed value and form is read") {
    CHECK(read(R"({"precision": "float64"})").precision == arena::DType::float64);
    CHECK(read(R"({"compute": "bfloat16"})").compute == Compute::bfloat16);
    CHECK(read(R"({"compute": "tf32"})").compute == Compute::tf32);
    CHECK(read(R"({"stacking": "batched"})").stacking == Stacking::batched);
    CHECK(read(R"({"stacking": "auto"})").stacking == Stacking::automatic);
    CHECK(read(R"({"device": "cpu"})").device == DeviceChoice::cpu);
    CHECK(read(R"({"share_gpus": true})").share_gpus == GpuSharing::allowed);
    CHECK(read(R"({"capture": "on"})").capture == Capture::on);
    CHECK(read(R"({"capture": "off"})").capture == Capture::off);
    CHECK(read(R"({"init": "independent"})").init == Init::independent);
    CHECK(read(R"({"init": "zeros"})").init == Init::zeros);
    CHECK(read(R"({"reduction": "library"})").reduction == ReductionChoice::library);
    CHECK(read(R"({"reduction": "reproducible"})").reduction == ReductionChoice::reproducible);
    CHECK(read(R"({"nonfinite": "stop"})").stop_on_nonfinite);
    CHECK(read(R"({"evaluate": {"batchnorm": "recalibrate"}})").evaluate.recalibrate);
    CHECK(read(R"({"evaluate": {"replicas": "all"}})").evaluate.replicas > int64_t{1} << 40);
    CHECK_FALSE(read(R"({"profile": {"variance": "off"}})").profile.variance.exact);
    CHECK_FALSE(read(R"({"profile": {"variance": {"kind": "off"}}})").profile.variance.exact);
    CHECK(read(R"({"checkpoint": {"replicas": "clone"}})").checkpoint.replicas ==
          ReplicaCountChange::clone);
    CHECK(read(R"({"checkpoint": {"replicas": "merge"}})").checkpoint.replicas ==
          ReplicaCountChange::merge);
    const Seeds seeds = read(R"({"seed": {"data": 7, "augment": 18446744073709551615}})").seed;
    CHECK(seeds.init == 1);
    CHECK(seeds.data == 7);
    CHECK(seeds.graph == 1);
    CHECK(seeds.delay == 1);
    CHECK(read(R"({"seed": {"delay": 5}})").seed.delay == 5);
    CHECK(seeds.augment == std::numeric_limits<uint64_t>::max());
}

TEST_CASE("Whole numbers are read in either form") {
    const RunSpec spec = read(R"({"evaluate": {"replicas": 3.0}, "seed": 2.0,
                                  "profile": {"trace": {"iterations": [2.0, 4]}}})");
    CHECK(spec.evaluate.replicas == 3);
    CHECK(spec.seed.init == 2);
    REQUIRE(spec.profile.trace);
    CHECK(spec.profile.trace->begin == 2);
    CHECK(spec.profile.trace->end == 4);
    for (const char* changes :
         {R"({"evaluate": {"replicas": 0.0}})", R"({"evaluate": {"replicas": 1.5}})",
          R"({"profile": {"trace": {"iterations": [0, 1.5]}}})",
          R"({"profile": {"trace": {"iterations": [-1.0, 2]}}})",
          R"({"profile": {"trace": {"iterations": [0, 1e300]}}})"}) {
        CAPTURE(changes);
        CHECK_FALSE(refusal(changes) == "accepted");
    }
}

TEST_CASE("Impossible values are refused with their pointer") {
    CHECK_THAT(refusal(R"({"name": "a/b"})"), ContainsSubstring("/name: \"a/b\" is not a name"));
    CHECK_THAT(refusal(R"({"seed": -1})"), ContainsSubstring("/seed: must be"));
    CHECK_THAT(refusal(R"({"seed": {"init": 1.5}})"), ContainsSubstring("/seed/init: must be"));
    CHECK_THAT(refusal(R"({"seed": {"shuffle": 1}})"), ContainsSubstring("/seed/shuffle: unknown"));
    if (!cuda_built()) {  // with CUDA it is refused only if no GPU is found
        CHECK_THAT(refusal(R"({"device": "cuda"})"), ContainsSubstring("/device: cuda is refused"));
    }
    CHECK_THAT(refusal(R"({"evaluate": {"replicas": "some"}})"),
               ContainsSubstring("/evaluate/replicas: must be"));
    for (const char* key : {R"({"replicas": X})", R"({"evaluate": {"replicas": X}})",
                            R"({"evaluate": {"batch_size": X}})", R"({"profile": {"graphs": X}})",
                            R"({"checkpoint": {"keep": X}})"}) {
        for (const char* number : {"9223372036854775808", "18446744073709551615", "1e19"}) {
            std::string changes = key;
            changes.replace(changes.find('X'), 1, number);
            CAPTURE(changes);
            CHECK_FALSE(refusal(changes.c_str()) == "accepted");
        }
    }
    CHECK_THAT(refusal(R"({"replicas": 2147483647})"), ContainsSubstring("2^20"));
}

TEST_CASE("A plan counts in iterations") {
    const RunSpec spec = read(R"({"length": {"epochs": 3}, "evaluate": {"every": {"epochs": 0.5},
        "replicas": 2}, "checkpoint": {"every": {"iterations": 7}}, "nonfinite": "stop",
        "profile": {"every": {"samples": 64}, "variance": "off"}})");
    const data::BatchPlan batches{8, false, 10, 0, 32};
    const base::RunLength run = run_length(spec, batches);
    CHECK(run.iterations == 30);
    CHECK(run.samples_per_iteration == 32);
    const TrainerPlan plan = plan_training(spec, run, 330);
    CHECK(plan.iterations == 30);
    CHECK(plan.evaluate_every == 5);
    CHECK(plan.checkpoint_every == 7);
    CHECK(plan.train_samples == 330);
    CHECK(plan.stop_on_nonfinite);
    CHECK(plan.min_sync_interval == 1);
    CHECK(plan_training(read(R"({"delays": [{"seconds": 1}]})"), run, 330).min_sync_interval > 1);
    CHECK(plan.profile.rows.count(30) == 15);
    CHECK_FALSE(plan.profile.variance.any_due());
    const auto test = data::load_data(data::resolve_data("shapes", ""), {4, 1}).test;
    CHECK(plan_evaluation(spec, *test).replicas == std::vector<int64_t>{0, 2});
    CHECK(plan_evaluation(read(), *test).replicas.size() == 4);
    CHECK_THROWS_WITH(run_length(read(R"({"length": {"iterations": 1e300}})"), batches),
                      ContainsSubstring("/length") && ContainsSubstring("10^12"));
}

}  // namespace dbench::train
