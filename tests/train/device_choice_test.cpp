// Tests of the choice of a rank's GPU, and of the counting of correct answers on the device.

#include <cmath>
#include <limits>

#include "catch.hpp"
#include "comm/transport/launcher.hpp"
#include "train/batches/owned_batch.hpp"
#include "train/device/device.hpp"
#include "train/device/gpu_facts.hpp"
#include "train/model_fixture.hpp"

namespace dbench::train {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("Either every rank has a GPU of its own, or no rank has one") {
    constexpr auto kRefused = GpuSharing::refused;
    CHECK(refusal_of({{"", "a 1", 0}, {"", "a 2", 1}, {"", "b 1", 0}}, kRefused).empty());
    const std::vector<GpuClaim> shared = {{"", "a 1", 0}, {"", "b 1", 0}, {"", "a 1", 0}};
    CHECK_THAT(refusal_of(shared, kRefused),
               ContainsSubstring("ranks 0 and 2 would use the same GPU") &&
                   ContainsSubstring("several replicas per rank") &&
                   ContainsSubstring("\"share_gpus\": true"));
    CHECK(refusal_of(shared, GpuSharing::allowed).empty());
    for (const GpuSharing sharing : {kRefused, GpuSharing::allowed}) {
        CHECK(refusal_of({{"", "a 1", 0}, {"none here", "", 0}, {"nor here", "", 0}}, sharing) ==
              "none here");
    }
}

TEST_CASE("Kernels run on GPUs of their generation, and as PTX on newer ones too") {
    CHECK(has_code("80 90", 8, 6));
    CHECK(has_code("80 90", 12, 0));
    CHECK_FALSE(has_code("80 90", 7, 5));
    CHECK(has_code("80-real", 8, 9));
    CHECK_FALSE(has_code("80-real", 9, 0));
    CHECK(has_code("75-real 80-virtual", 9, 0));
    CHECK(has_code("native", 7, 0));
}

TEST_CASE("A UUID is written as nvidia-smi prints it") {
    const std::string bytes = "\x8a\x4f\x01\xc2\x10\x11\x20\x21\x30\x31\xfe\xdc\xba\x98\x76\x54";
    CHECK(uuid_text(bytes) == "8a4f01c2-1011-2021-3031-fedcba987654");
}

TEST_CASE("The host serves if no GPU is requested or found") {
    comm::World world{comm::alone()};
    const auto make = [&](DeviceChoice wanted) {
        return make_device(wanted, GpuSharing::refused, world);
    };
    CHECK(make(DeviceChoice::cpu)->name() == "cpu");
    if (gpu_count() > 0) return;
    const auto any = make(DeviceChoice::automatic);
    CHECK(any->name() == "cpu");
    CHECK(any->place().immediate());
    CHECK(any->gpu_address().empty());
    CHECK_FALSE(any->memory_info());
    CHECK_THROWS_WITH(make(DeviceChoice::cuda), ContainsSubstring("/device: cuda is refused"));
}

TEST_CASE("Correct answers counted on the device equal those counted on the host") {
    const ModelContext context{{4}, 7};
    const auto model = make_model(R"({"type": "softmax_regression"})", context);
    RandomBatch random(40, context, data::Order::contiguous, torch::kFloat32, 3);
    // Few distinct values, so that many logits are equal; some logits are NaN.
    torch::Tensor logits = torch::randint(-2, 3, {40, 7}, torch::kFloat32);
    logits[3][2] = std::numeric_limits<float>::quiet_NaN();
    logits[5] = std::numeric_limits<float>::quiet_NaN();
    for (const int64_t top : {1, 3, 7}) {
        CHECK(model->correct_on_device(logits, random.batch, top).item<double>() ==
              model->correct(logits, random.batch, top));
    }
    const torch::Tensor of_parts = model->correct_on_device(logits, random.batch, 1, 4);
    for (int64_t part = 0; part < 4; ++part) {
        CHECK(of_parts[part].item<double>() ==
              model->correct(logits.slice(0, 10 * part, 10 * part + 10),
                             data::microbatch(random.batch, part, 4), 1));
    }
    data::Batch real = random.batch;
    real.labels = nullptr;
    CHECK(std::isnan(model->correct_on_device(logits, real, 1).item<double>()));
}

TEST_CASE("An OwnedBatch equals the batch, in memory of its own") {
    for (const bool tokens : {false, true}) {
        const ModelContext context{tokens ? std::vector<int64_t>{6} : std::vector<int64_t>{3, 4, 4},
                                   9, tokens};
        RandomBatch random(5, context,
                           tokens ? data::Order::contiguous : data::Order::channels_last,
                           torch::kFloat64, 1);
        const OwnedBatch held(random.batch, false);
        const torch::Tensor inputs = random.inputs.clone(), labels = random.labels.clone();
        random.stored.zero_();
        random.labels.zero_();
        CHECK(torch::equal(input_tensor(held.batch()), inputs));
        CHECK(torch::equal(label_tensor(held.batch()), labels));
    }
    const ModelContext real{{3}, 0};
    RandomBatch random(5, real, data::Order::contiguous, torch::kFloat32, 1);
    const OwnedBatch held(random.batch, false);
    const torch::Tensor targets = random.targets.clone();
    random.targets.zero_();
    CHECK(torch::equal(target_tensor(held.batch()), targets));
    CHECK_FALSE(held.batch().labels);
}

}  // namespace
}  // namespace dbench::train
