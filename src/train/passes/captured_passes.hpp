#pragma once  // Private to train/passes.
// Forward and backward passes of a rank's replicas as their device has captured them (CUDA graphs).
// A replay costs the host one launch, and LibTorch computes nothing on the host.
//
// A captured pass reads and writes fixed addresses. So there is one capture for each replica (or
// one for all replicas that share a pass) and each address of the parameters. Parameters, gradients
// and statistics keep their addresses. The minibatch is copied to a fixed address before each
// replay (FixedBatch), and losses and accuracies are copied from a fixed address to the caller's
// memory afterwards (copy_scores()).
//
// The Executor calls, in each iteration: begin(); if that allows it, submit() for each pass; then
// copy_scores().

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arena/device/memory.hpp"
#include "train/batches/fixed_batch.hpp"
#include "train/device/device.hpp"

namespace dbench::train {

/// The captured passes of one rank. The thread that trains makes all calls.
class CapturedPasses {
public:
    /// Number of iterations before the first captured one: libraries choose their algorithms in
    /// these.
    static constexpr int64_t kWarm = 2;

    /// Serves `replicas` local replicas, each in a pass of its own or all `together` in one, and
    /// captures at most `most` passes.
    CapturedPasses(Device& device, torch::Device torch_device, int64_t replicas, bool together,
                   int64_t most);

    /// Begins an iteration whose parameters are stored at `x`. Returns true if its passes may be
    /// captured: they must then write to loss() and accuracy(), and copy_scores() must follow.
    bool begin(const void* x);
    double* loss() { return scores_.data(); }
    double* accuracy() { return scores_.data() + replicas_; }

    /// Captures a pass over the minibatches that will be stored at `batch`, for the queue of
    /// submit().
    using Capture = std::function<std::unique_ptr<CapturedWork>(const FixedBatch& batch)>;
    /// Copies the minibatch to the pass's fixed address and replays pass i; captures the pass first
    /// if it has not been. `batch` must live until the pass is done, and `queue` must be the same
    /// each time. Returns null, and launches nothing, if the pass cannot be captured or the
    /// minibatch has another shape.
    CapturedWork* submit(int64_t i, const data::Batch& batch, arena::Queue& queue,
                         const Capture& capture);

    /// Copies what this iteration's passes have written to loss[R] and accuracy[R], ordered after
    /// all that is on the compute queue.
    void copy_scores(double* loss, double* accuracy);

    /// Returns why passes are not captured, or no longer are; "" if they are or will be.
    const std::string& obstacle() const { return obstacle_; }

private:
    struct Pass {
        std::shared_ptr<const FixedBatch> batch;
        std::unique_ptr<CapturedWork> work;
    };

    /// Releases the memory of all captured passes; the host waits until they are done.
    void drop();

    Device& device_;
    torch::Device torch_device_;
    int64_t replicas_, passes_per_address_, most_, warmed_ = 0;
    std::map<const void*, std::vector<Pass>> passes_;  // by the address of the parameters
    std::vector<Pass>* here_ = nullptr;
    arena::HostVisibleArray<double> scores_;  // losses[replicas_], then accuracies[replicas_]
    bool failed_ = false;
    std::string obstacle_;
};

}  // namespace dbench::train
