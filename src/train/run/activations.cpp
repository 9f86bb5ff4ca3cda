#include "train/run/activations.hpp"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "algorithms/step/timers.hpp"
#include "data/loader.hpp"
#include "train/device/device.hpp"
#include "train/models/model.hpp"
#include "train/passes/executor.hpp"
#include "train/replicas.hpp"

namespace dbench::train {
namespace {

/// Counts the bytes of LibTorch's tensors that are allocated while it is installed. Threads of
/// backward passes report, too.
class AllocationCounter final : public c10::MemoryReportingInfoBase {
public:
    void reportMemoryUsage(void* /*block*/, int64_t bytes, size_t /*allocated*/,
                           size_t /*reserved*/, c10::Device /*device*/) override {
        const int64_t now = now_ += bytes;
        int64_t most = most_;
        while (now > most && !most_.compare_exchange_weak(most, now)) {
        }
    }
    bool memoryProfilingEnabled() const override { return true; }
    int64_t most() const { return most_; }

private:
    std::atomic<int64_t> now_{0}, most_{0};
};

template <class Work>
double most_bytes(const Work& work) {
    const auto counter = std::make_shared<AllocationCounter>();
    const c10::DebugInfoGuard installed(c10::DebugInfoKind::PROFILER_STATE, counter);
    work();
    return static_cast<double>(counter->most());
}

}  // namespace

ActivationBytes activation_bytes(const Model& model, const RunSpec& spec,
                                 const data::Dataset& train, const PassSizes& sizes) {
    Replicas replicas(model, {1, 1}, 0, spec.precision, Init::same, spec.seed.init);
    Executor executor(model, replicas);
    data::PlainBatches plain(spec.precision, model.order());
    algorithms::Timers timers(arena::host_place().compute());
    const auto training = [&](int64_t samples) {
        const data::Batch& batch = plain.fill(train, 0, samples);
        return most_bytes([&] { executor.gradient(0, replicas.x(), 0, batch, timers); });
    };
    const auto evaluation = [&](int64_t samples) {
        const data::Batch& batch = plain.fill(train, 0, samples);
        const auto* const weights = reinterpret_cast<const char*>(replicas.x().data);
        return most_bytes([&] { executor.loss(weights, 0, batch, timers); });
    };
    // A first pass creates what later passes keep. BatchNorm needs two samples.
    const int64_t all = std::min(sizes.training, train.size());
    const int64_t few = std::min<int64_t>(2, all), more = std::min<int64_t>(4, all);
    if (sizes.fixed || few == more) {
        training(all);
        return {static_cast<int64_t>(training(all)), 0};
    }
    const auto at = [&](const auto& pass, int64_t samples) {
        pass(few);
        const double least = pass(few),
                     each = (pass(more) - least) / static_cast<double>(more - few);
        return least + std::max(0.0, each) * static_cast<double>(samples - few);
    };
    return {static_cast<int64_t>(at(training, all)),
            static_cast<int64_t>(at(evaluation, sizes.evaluation))};
}

}  // namespace dbench::train
