// Tests of the choice of captured passes: one for each address of the parameters, up to a limit,
// for minibatches of one size, if the device can capture them.

#include "train/passes/captured_passes.hpp"

#include <numeric>

#include "arena/emulated_device.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "train/models/model.hpp"
#include "train/passes/capture.hpp"

namespace dbench::train {
namespace {

using Catch::Matchers::ContainsSubstring;

class CapturingDevice final : public Device {
public:
    explicit CapturingDevice(arena::Queue& queue) : queue_(queue) {}
    arena::Place place() const override { return {queue_, queue_}; }

private:
    arena::Queue& queue_;
};

/// A minibatch of two samples of three numbers.
struct SmallBatch {
    std::vector<float> inputs = std::vector<float>(6);
    std::vector<int64_t> labels = {0, 1};
    data::Batch batch;

    explicit SmallBatch(float from) {
        std::iota(inputs.begin(), inputs.end(), from);
        batch.count = batch.terms = 2;
        batch.shape = {2, 3};
        batch.inputs = inputs.data();
        batch.labels = labels.data();
    }
};

/// Two replicas with captured passes. A pass writes the sum of its inputs as its loss, and the sum
/// of its labels as its accuracy.
struct CapturedPair {
    arena::EmulatedDevice emulated{1};
    CapturingDevice device{emulated.add_queue()};
    CapturedPasses passes;
    int captures = 0;

    explicit CapturedPair(int64_t most) : passes(device, torch::kCPU, 2, false, most) {
        for (int64_t k = 0; k < CapturedPasses::kWarm; ++k) CHECK_FALSE(passes.begin(this));
    }
    CapturedWork* submit(int64_t i, const data::Batch& batch) {
        return passes.submit(i, batch, device.place().compute(), [&](const FixedBatch& fixed) {
            ++captures;
            double* const loss = passes.loss() + i;
            double* const accuracy = passes.accuracy() + i;
            std::vector<arena::Access> all = fixed.reads();
            all.push_back(arena::writes(loss, sizeof(double)));
            all.push_back(arena::writes(accuracy, sizeof(double)));
            const auto work = [&fixed, loss, accuracy](const auto&) {
                *loss = input_tensor(fixed.batch()).sum().item<double>();
                *accuracy = label_tensor(fixed.batch()).sum().item<double>();
            };
            return device.capture("pass", {all}, work, device.place().compute());
        });
    }
};

TEST_CASE("A captured pass reads the current minibatch, and its scores reach the caller's memory") {
    CapturedPair p(8);
    const int here = 0;
    std::vector<std::vector<double>> scores;
    std::vector<std::unique_ptr<SmallBatch>> batches;
    for (int t = 0; t < 3; ++t) {
        REQUIRE(p.passes.begin(&here));
        for (int64_t i = 0; i < 2; ++i) {
            batches.push_back(std::make_unique<SmallBatch>(static_cast<float>(10 * t + i)));
            CHECK(p.submit(i, batches.back()->batch));
        }
        scores.emplace_back(4);
    }
    // Only the third iteration's scores are copied.
    p.passes.copy_scores(scores[2].data(), scores[2].data() + 2);
    p.emulated.finish();
    CHECK(p.captures == 2);
    CHECK(scores[2] == std::vector<double>{6 * 20 + 15, 6 * 21 + 15, 1, 1});
    CHECK(p.emulated.conflicts().empty());
    CHECK(p.passes.obstacle().empty());
}

TEST_CASE("Passes are captured up to the limit, and no further") {
    CapturedPair p(3);
    const int here = 0, there = 0;
    CHECK(p.passes.begin(&here));
    CHECK(p.passes.obstacle().empty());
    CHECK_FALSE(p.passes.begin(&there));
    CHECK_THAT(p.passes.obstacle(), ContainsSubstring("2 places need more than 3"));
    CHECK(p.passes.begin(&here));
    CapturedPair none(1);
    CHECK_FALSE(none.passes.begin(&here));
}

TEST_CASE("A captured pass refuses a minibatch of another size") {
    CapturedPair p(8);
    const int here = 0;
    SmallBatch first(0), smaller(1);
    REQUIRE(p.passes.begin(&here));
    CHECK(p.submit(0, first.batch));
    smaller.batch.count = smaller.batch.terms = smaller.batch.shape[0] = 1;
    CHECK_FALSE(p.submit(0, smaller.batch));
    CHECK(p.submit(0, first.batch));
    CHECK(p.captures == 1);
    p.emulated.finish();
}

TEST_CASE("After the device has failed to capture a pass no other capture is tried") {
    CapturedPair p(8);
    const int here = 0;
    const SmallBatch one(0);
    REQUIRE(p.passes.begin(&here));
    const auto fails = [](const FixedBatch&) -> std::unique_ptr<CapturedWork> {
        throw base::RunError("an operation that is not allowed");
    };
    CHECK_FALSE(p.passes.submit(0, one.batch, p.device.place().compute(), fails));
    CHECK(p.passes.obstacle() == "an operation that is not allowed");
    CHECK_FALSE(p.submit(1, one.batch));
    CHECK_FALSE(p.passes.begin(&here));
    CHECK(p.captures == 0);
    p.emulated.finish();
}

TEST_CASE("choose_capture follows the spec") {
    CHECK(choose_capture(Capture::automatic, "").captured);
    CHECK(choose_capture(Capture::on, "").captured);
    CHECK_FALSE(choose_capture(Capture::off, "").captured);
    CHECK_FALSE(choose_capture(Capture::automatic, "of this").captured);
    CHECK(choose_capture(Capture::automatic, "of this").reason == "of this");
}

}  // namespace
}  // namespace dbench::train
