#pragma once  // Private to comm/nccl.
// This rank's part of an NCCL communicator: the communicator, its stream and its events. It starts
// groups of calls, finds out which of them have moved, and ends the communicator.

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "arena/device/queue.hpp"
#include "comm/nccl/nccl_api.hpp"
#include "comm/nccl/stall_watch.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm {

/// Any thread may call it, but starts come from one thread. Numbers of ranks are the launcher's.
class NcclSession {
public:
    /// A start of messages.
    struct Start {
        CudaEvent* event;
        std::vector<int> ranks;  ///< Ranks that take part; empty: all.
        bool moved = false;      ///< All its messages have been sent and received.
    };
    /// A call inside an NCCL group; returns its result.
    using Call = std::function<NcclResult()>;

    /// Makes the stream on the GPU number `device`. The world must outlive the session. Throws
    /// RunError if CUDA fails.
    NcclSession(World& world, NcclParts parts, int device);
    /// Aborts the communicator if it has not ended, and destroys the stream.
    ~NcclSession();
    NcclSession(const NcclSession&) = delete;
    NcclSession& operator=(const NcclSession&) = delete;

    arena::Queue* queue() const { return queue_.get(); }
    const NcclApi& nccl() const { return nccl_; }
    NcclCommunicator* communicator() const { return communicator_; }
    CudaStream* stream() const { return stream_; }

    /// Returns a name for a communicator, which all ranks pass to `join`.
    NcclId new_id();
    /// Joins the communicator. Collective. Throws RunError and Stalled.
    void join(const NcclId& id);

    /// Starts an NCCL group of `calls` with the `ranks` that take part (empty: all). Without calls,
    /// marks the point after all earlier starts. Throws RunError and Stalled.
    std::shared_ptr<Start> start(const std::vector<Call>& calls, std::vector<int> ranks);
    /// Returns true if the start has moved. Throws RunError if the communicator has failed.
    bool test(const Start& start);
    /// Returns the ranks that take part in the oldest start that has not moved: no later start
    /// moves before it.
    std::vector<int> awaited_ranks(const Start& start);

    /// Ends the communicator. Collective, unless it has failed: a failure has been reported where
    /// it occurred.
    void leave();
    /// Aborts the communicator without the other ranks.
    void abandon();

private:
    int size() const { return world_.size(); }
    int slot() const { return world_.slot(); }
    bool alive() const { return communicator_ != nullptr; }
    void require_alive() const;
    void start_group(const std::vector<Call>& calls);
    void wait_until_accepted(const std::string& what, const std::vector<int>& ranks);
    std::vector<int> numbers(std::vector<int> ranks) const;
    bool accepted();
    CudaEvent* take_event();
    void check(NcclResult result, const char* what) const;
    void check(CudaResult result, const char* what) const;

    World& world_;
    const NcclApi nccl_;
    const CudaApi cuda_;
    const int device_;
    std::mutex mutex_;
    CudaStream* stream_ = nullptr;
    std::unique_ptr<arena::Queue> queue_;
    NcclCommunicator* communicator_ = nullptr;
    std::deque<std::shared_ptr<Start>> started_;  // oldest first
    std::vector<CudaEvent*> events_;              // free for reuse
    StallWatch watch_;                            // of the starts
};

}  // namespace dbench::comm
