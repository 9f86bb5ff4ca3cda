#include "comm/nccl/nccl_transport.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/nccl/stall_watch.hpp"
#include "comm/wait.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm {
namespace {

constexpr int kTags = 1 << 30;

/// A start of messages. `moved`: all its messages have been sent and received.
struct Started {
    CudaEvent* event;
    std::vector<int> ranks;  ///< Ranks that take part, numbered by the launcher; empty: all.
    bool moved = false;
};

/// In deadlines: if no wait has given up after one deadline, its thread is blocked in a call.
constexpr double kBlockedDeadlines = 2;

/// Reports the awaited ranks and ends the process, whose threads are all blocked.
[[noreturn]] void give_up(const std::vector<int>& ranks, double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", seconds);
    base::report_error("rows over NCCL stalled (no answer from " +
                       (ranks.empty() ? "the other ranks" : to_text(ranks)) + " within " + text +
                       ", and this process is blocked in a call that waits for it): look at that "
                       "rank's log and node; DBENCH_TIMEOUT sets half the limit");
    _exit(base::kExitFailed);
}

/// This rank's communicator, stream and events. Any thread may call it, but starts come from one
/// thread.
class NcclSession {
public:
    NcclSession(World& world, NcclParts parts, int device)
        : world_(world),
          nccl_(std::move(parts.nccl)),
          cuda_(std::move(parts.cuda)),
          device_(device),
          watch_(kBlockedDeadlines * world.deadline(),
                 [seconds = kBlockedDeadlines * world.deadline()](const auto& ranks) {
                     give_up(ranks, seconds);
                 }) {
        check(cuda_.set_device(device_), "cudaSetDevice");
        int least = 0, greatest = 0;
        check(cuda_.stream_priority_range(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
        check(cuda_.stream_create(&stream_, kStreamNonBlocking, greatest),
              "cudaStreamCreateWithPriority");
        queue_ = parts.queue(stream_);
    }

    ~NcclSession() {
        abandon();  // A communicator whose join failed still uses the stream.
        for (const auto& started : started_) cuda_.event_destroy(started->event);
        for (CudaEvent* const event : events_) cuda_.event_destroy(event);
        queue_.reset();
        cuda_.stream_destroy(stream_);
    }

    int size() const { return world_.size(); }
    int slot() const { return world_.slot(); }
    arena::Queue* queue() const { return queue_.get(); }
    const NcclApi& nccl() const { return nccl_; }
    NcclCommunicator* communicator() const { return communicator_; }
    CudaStream* stream() const { return stream_; }

    NcclId new_id() {
        NcclId id;
        check(nccl_.get_unique_id(&id), "ncclGetUniqueId");
        return id;
    }

    // Joins the communicator. Collective.
    void join(const NcclId& id) {
        NcclConfig config;
        {
            const std::lock_guard lock(mutex_);
            check(nccl_.init_rank(&communicator_, size(), id, slot(), &config),
                  "ncclCommInitRankConfig");
        }
        wait_until_accepted("the start of NCCL", {});
    }

    // Starts an NCCL group of `calls`, which return their results, with the `ranks` that take part
    // (empty: all). Without calls, marks the point after all earlier starts.
    using Call = std::function<NcclResult()>;
    std::shared_ptr<Started> start(const std::vector<Call>& calls, std::vector<int> ranks) {
        if (!calls.empty()) {
            start_group(calls);
            wait_until_accepted("the start of an exchange over NCCL", ranks);
            // The queue does not see the work that NCCL has put on its stream; an empty launch
            // makes it known.
            queue_->launch({"an NCCL group", {}, 0, nullptr, [](void*) {}});
        }
        const std::lock_guard lock(mutex_);
        check(cuda_.set_device(device_), "cudaSetDevice");
        std::vector<int> waited_for = numbers(ranks);
        auto started = std::make_shared<Started>(Started{take_event(), std::move(ranks)});
        if (const CudaResult result = cuda_.event_record(started->event, stream_);
            result != CudaResult::success) {
            events_.push_back(started->event);
            check(result, "cudaEventRecord");
        }
        // The watch expects one moved() for each started(): it is notified when nothing can fail.
        started_.push_back(started);
        watch_.started(std::move(waited_for));
        return started;
    }

    // True if the start has moved. Throws RunError if the communicator has failed.
    bool test(const Started& started) {
        const std::lock_guard lock(mutex_);
        if (started.moved) return true;
        require_alive();
        check(cuda_.set_device(device_), "cudaSetDevice");
        while (!started_.empty()) {
            const CudaResult result = cuda_.event_query(started_.front()->event);
            if (result == CudaResult::not_ready) {
                // Clears it, or a launch of this thread would report it as its own.
                cuda_.get_last_error();
                break;
            }
            check(result, "cudaEventQuery");
            started_.front()->moved = true;
            events_.push_back(started_.front()->event);
            started_.pop_front();
            watch_.moved();
        }
        if (!started.moved) accepted();
        return started.moved;
    }

    // Returns the ranks of the oldest start, because starts move in order.
    std::vector<int> awaited_ranks(const Started& started) {
        const std::lock_guard lock(mutex_);
        if (started.moved || started_.empty()) return {};
        return started_.front()->ranks;
    }

    // Leaves the communicator together with all other ranks; abandons it if it has failed, which
    // was reported earlier.
    void leave() {
        const auto done = [this] {
            const std::lock_guard lock(mutex_);
            return accepted();
        };
        try {
            done();
        } catch (const base::RunError&) {
            return abandon();
        }
        try {
            {
                const std::lock_guard lock(mutex_);
                check(nccl_.finalize(communicator_), "ncclCommFinalize");
            }
            // The control messages that find the late rank no longer exist, so this is a plain
            // wait.
            wait({"the end of NCCL", done, [] { return std::vector<int>(); }, [] {}, timeout()});
            const std::lock_guard lock(mutex_);
            check(nccl_.destroy(std::exchange(communicator_, nullptr)), "ncclCommDestroy");
        } catch (const std::exception& error) {
            base::warn(error.what());
            abandon();
        }
    }

    void abandon() {
        watch_.end();
        const std::lock_guard lock(mutex_);
        if (alive()) nccl_.abort(std::exchange(communicator_, nullptr));
    }

private:
    bool alive() const { return communicator_ != nullptr; }
    void require_alive() const {
        if (!alive()) throw base::RunError("NCCL was abandoned after an earlier failure");
    }

    void start_group(const std::vector<Call>& calls) {
        const std::lock_guard lock(mutex_);
        require_alive();
        check(cuda_.set_device(device_), "cudaSetDevice");
        check(nccl_.group_start(), "ncclGroupStart");
        NcclResult worst = NcclResult::success;
        for (const Call& call : calls) {
            const NcclResult result = call();
            if (!is_ok(result)) worst = result;
        }
        const NcclResult ended = nccl_.group_end();
        check(worst, "a call of a group");
        check(ended, "ncclGroupEnd");
    }

    void wait_until_accepted(const std::string& what, const std::vector<int>& ranks) {
        const auto done = [this] {
            const std::lock_guard lock(mutex_);
            return accepted();
        };
        // A thread of NCCL accepts the call, mostly before the shortest sleep would end.
        constexpr double kSoon = 200e-6;  // seconds
        for (const base::Stopwatch watch; watch.seconds() < kSoon; sched_yield()) {
            if (done()) return;
        }
        World::Impl& world = world_.impl();
        world.wait(what, done, [&] { return numbers(ranks); });
    }

    // Translates the launcher's numbers of ranks to the world's.
    std::vector<int> numbers(std::vector<int> ranks) const {
        const std::vector<int>& slots = world_.impl().member.slots;
        if (slots.empty()) return ranks;
        for (int& rank : ranks) {
            rank = static_cast<int>(std::find(slots.begin(), slots.end(), rank) - slots.begin());
        }
        return ranks;
    }

    // True if NCCL has accepted all calls: they have been started, not moved.
    bool accepted() {
        require_alive();
        NcclResult state = NcclResult::success;
        check(nccl_.async_error(communicator_, &state), "ncclCommGetAsyncError");
        check(state, "the communicator");
        return state == NcclResult::success;
    }

    CudaEvent* take_event() {
        CudaEvent* event = nullptr;
        if (events_.empty()) {
            check(cuda_.event_create(&event, kEventDisableTiming), "cudaEventCreateWithFlags");
            return event;
        }
        event = events_.back();
        events_.pop_back();
        return event;
    }

    static bool is_ok(NcclResult result) {
        return result == NcclResult::success || result == NcclResult::in_progress;
    }
    void check(NcclResult result, const char* what) const {
        if (is_ok(result)) return;
        const std::string why = communicator_ ? nccl_.last_error(communicator_) : "";
        throw base::RunError(std::string("NCCL has failed in ") + what + " (" +
                             nccl_.error_string(result) + (why.empty() ? "" : ": ") + why +
                             "): set NCCL_DEBUG=INFO for details");
    }
    void check(CudaResult result, const char* what) const {
        if (result == CudaResult::success) return;
        throw base::RunError(std::string(what) + " failed (" + cuda_.error_string(result) + ")");
    }

    World& world_;
    const NcclApi nccl_;
    const CudaApi cuda_;
    const int device_;
    std::mutex mutex_;
    CudaStream* stream_ = nullptr;
    std::unique_ptr<arena::Queue> queue_;
    NcclCommunicator* communicator_ = nullptr;
    std::deque<std::shared_ptr<Started>> started_;  // oldest first
    std::vector<CudaEvent*> events_;                // free for reuse
    StallWatch watch_;                              // of the starts
};

class NcclTransfer : public Transfer {
public:
    NcclTransfer(std::shared_ptr<NcclSession> session, std::shared_ptr<Started> started)
        : session_(std::move(session)), started_(std::move(started)) {}
    bool test() override { return session_->test(*started_); }
    std::vector<int> awaited_ranks() const override { return session_->awaited_ranks(*started_); }

private:
    std::shared_ptr<NcclSession> session_;
    std::shared_ptr<Started> started_;
};

class NcclTransport : public RowTransport {
public:
    explicit NcclTransport(std::shared_ptr<NcclSession> session) : session_(std::move(session)) {}
    ~NcclTransport() override { session_->leave(); }

    int tags() const override { return kTags; }

    std::unique_ptr<Transfer> start(std::span<const Message> out,
                                    std::span<const Message> in) override {
        for (const auto& messages : {out, in}) {
            for (const Message& message : messages) check_order(message.tag);
        }
        const NcclApi& nccl = session_->nccl();
        std::vector<NcclSession::Call> calls;
        std::set<int> ranks;
        const auto add = [&](const Message& message, const auto& call) {
            if (message.bytes == 0) return;
            ranks.insert(message.rank);
            calls.push_back([&call, &message, this] {
                return call(message.data, static_cast<size_t>(message.bytes), NcclType::int8,
                            message.rank, session_->communicator(), session_->stream());
            });
        };
        for (const Message& message : out) add(message, nccl.send);
        for (const Message& message : in) add(message, nccl.recv);
        return transfer(calls, {ranks.begin(), ranks.end()});
    }

    std::unique_ptr<Transfer> start_sum(arena::DType type, const void* from, void* to,
                                        int64_t count) override {
        std::vector<NcclSession::Call> calls;
        if (count > 0) {
            calls.push_back([=, this] {
                return session_->nccl().all_reduce(
                    from, to, static_cast<size_t>(count),
                    type == arena::DType::float32 ? NcclType::float32 : NcclType::float64,
                    NcclSum::sum, session_->communicator(), session_->stream());
            });
        }
        return transfer(calls, {});
    }

    arena::Queue* queue() override { return session_->queue(); }
    void abandon() override { session_->abandon(); }

private:
    std::unique_ptr<Transfer> transfer(const std::vector<NcclSession::Call>& calls,
                                       std::vector<int> ranks) {
        return std::make_unique<NcclTransfer>(session_, session_->start(calls, std::move(ranks)));
    }

    // Checks that all messages of a start have the same tag, and that tags of later starts do not
    // decrease (modulo kTags).
    void check_order(int tag) {
        const int ahead = last_ ? (tag - *last_ + kTags) % kTags : 0;
        if (ahead >= kTags / 2) {
            throw base::RunError("rows of exchange " + std::to_string(tag) +
                                 " start after those of exchange " + std::to_string(*last_) +
                                 ", but NCCL needs one order on all ranks");
        }
        last_ = tag;
    }

    std::shared_ptr<NcclSession> session_;
    std::optional<int> last_;  // tag
};

/// Returns the result of `work` if it succeeds on all ranks; else throws on all ranks. Collective.
template <class Work>
auto run_on_all(World& world, Work&& work) {
    decltype(work()) result{};
    std::string problem;
    bool user_error = false;
    try {
        result = work();
    } catch (const base::UserError& error) {
        problem = error.what();
        user_error = true;
    } catch (const std::exception& error) {
        problem = error.what();
    }
    world.agree(problem, user_error);
    return result;
}

std::string gpu_bus_id(const CudaApi& cuda, int device) {
    char id[32] = "";
    const CudaResult result = cuda.pci_bus_id(id, sizeof id, device);
    if (result != CudaResult::success) {
        throw base::UserError("device " + std::to_string(device) + " is not there (" +
                              cuda.error_string(result) +
                              "): give each rank a GPU (Slurm: --gpus-per-task=1)");
    }
    return id;
}

}  // namespace

void require_distinct_gpus(const std::vector<RankGpu>& gpus) {
    std::map<std::pair<std::string, std::string>, int> owners;
    for (size_t rank = 0; rank < gpus.size(); ++rank) {
        const RankGpu& gpu = gpus[rank];
        const auto [owner, first] = owners.emplace(std::pair{gpu.host, gpu.id}, rank);
        if (first) continue;
        throw base::UserError("ranks " + std::to_string(owner->second) + " and " +
                              std::to_string(rank) + " both use GPU " + gpu.id + " of " + gpu.host +
                              " (NCCL connects GPUs, not processes): start one rank a GPU, which "
                              "may hold several replicas");
    }
}

std::unique_ptr<RowTransport> join_nccl(World& world, NcclParts parts, int device) {
    const std::vector<std::string> hosts = world.all_gather(world.host());
    const std::vector<std::string> ids =
        world.all_gather(run_on_all(world, [&] { return gpu_bus_id(parts.cuda, device); }));
    std::vector<RankGpu> gpus;
    for (size_t rank = 0; rank < hosts.size(); ++rank) gpus.push_back({hosts[rank], ids[rank]});
    require_distinct_gpus(gpus);

    const auto session = run_on_all(
        world, [&] { return std::make_shared<NcclSession>(world, std::move(parts), device); });
    const NcclId mine =
        run_on_all(world, [&] { return world.rank() == 0 ? session->new_id() : NcclId{}; });
    std::string text(mine.bytes, sizeof mine.bytes);
    world.broadcast(text);
    NcclId id{};
    std::memcpy(id.bytes, text.data(), sizeof id.bytes);
    session->join(id);
    return std::make_unique<NcclTransport>(session);
}

}  // namespace dbench::comm
