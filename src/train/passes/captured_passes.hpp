#pragma once
// Forward and backward of a rank's replicas as their device has captured them: once for each
// replica, or for all that pass together, and each place where the parameters lie, after which
// LibTorch has nothing to do on the host. What such a pass finds when it is repeated stands where
// it stood then: parameters, gradients and statistics do anyway; a minibatch is copied there first;
// and losses are copied from there to where they are wanted.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arena/device/memory.hpp"
#include "train/batches/fixed_batch.hpp"
#include "train/device/device.hpp"

namespace dbench::train {

class CapturedPasses {
public:
    /// Iterations before the first that is captured: libraries choose their algorithms in these.
    static constexpr int64_t kWarm = 2;

    /// Of so many local replicas, each in a pass of its own or all in one; at most `most` passes.
    CapturedPasses(Device& device, torch::Device place, int64_t replicas, bool together,
                   int64_t most);

    /// Begins an iteration whose parameters lie at `x`; whether its passes may be captured. Their
    /// losses are then to be written to loss[R], accuracy[R] and told.
    bool begin(const void* x);
    double* loss() { return scores_.data(); }
    double* accuracy() { return scores_.data() + replicas_; }

    /// Captures a pass over the minibatches that come to stand at `batch`, for the queue below.
    using Capture = std::function<std::unique_ptr<Captured>(const FixedBatch& batch)>;
    /// Puts pass i, captured now where it has not been, on a minibatch that stays until it is done,
    /// always on the same queue; null, and nothing is put, where it cannot be.
    Captured* put(int64_t i, const data::Batch& batch, arena::Queue* queue, const Capture& capture);

    /// Copies what this iteration's passes have written to loss[R], accuracy[R], behind what is on
    /// the compute queue.
    void tell(double* loss, double* accuracy);

    /// Why passes are not captured, or no more; "" where they are or are going to be.
    const std::string& obstacle() const { return obstacle_; }

private:
    struct Pass {
        std::shared_ptr<const FixedBatch> batch;
        std::unique_ptr<Captured> work;
    };

    /// Gives back the memory of all; the host waits until they are done.
    void drop();

    Device& device_;
    torch::Device place_;
    int64_t replicas_, in_place_, most_, warmed_ = 0;
    std::map<const void*, std::vector<Pass>> passes_;  // by where the parameters lie
    std::vector<Pass>* here_ = nullptr;
    arena::Values<double> scores_;  // losses and accuracies side by side
    bool failed_ = false;
    std::string obstacle_;
};

}  // namespace dbench::train
