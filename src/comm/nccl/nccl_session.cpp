#include "comm/nccl/nccl_session.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/wait.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm {
namespace {

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

bool is_ok(NcclResult result) {
    return result == NcclResult::success || result == NcclResult::in_progress;
}

}  // namespace

NcclSession::NcclSession(World& world, NcclParts parts, int device)
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

NcclSession::~NcclSession() {
    abandon();  // A communicator whose join failed still uses the stream.
    for (const auto& started : started_) cuda_.event_destroy(started->event);
    for (CudaEvent* const event : events_) cuda_.event_destroy(event);
    queue_.reset();
    cuda_.stream_destroy(stream_);
}

NcclId NcclSession::new_id() {
    NcclId id;
    check(nccl_.get_unique_id(&id), "ncclGetUniqueId");
    return id;
}

void NcclSession::join(const NcclId& id) {
    NcclConfig config;
    {
        const std::lock_guard lock(mutex_);
        check(nccl_.init_rank(&communicator_, size(), id, slot(), &config),
              "ncclCommInitRankConfig");
    }
    wait_until_accepted("the start of NCCL", {});
}

std::shared_ptr<NcclSession::Start> NcclSession::start(const std::vector<Call>& calls,
                                                       std::vector<int> ranks) {
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
    auto started = std::make_shared<Start>(Start{take_event(), std::move(ranks)});
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

bool NcclSession::test(const Start& started) {
    const std::lock_guard lock(mutex_);
    if (started.moved) return true;
    require_alive();
    check(cuda_.set_device(device_), "cudaSetDevice");
    while (!started_.empty()) {
        const CudaResult result = cuda_.event_query(started_.front()->event);
        if (result == CudaResult::not_ready) {
            // Clears cudaErrorNotReady; the next launch of this thread would otherwise report it.
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

std::vector<int> NcclSession::awaited_ranks(const Start& started) {
    const std::lock_guard lock(mutex_);
    if (started.moved || started_.empty()) return {};
    return started_.front()->ranks;
}

void NcclSession::leave() {
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

void NcclSession::abandon() {
    watch_.end();
    const std::lock_guard lock(mutex_);
    if (alive()) nccl_.abort(std::exchange(communicator_, nullptr));
}

void NcclSession::require_alive() const {
    if (!alive()) throw base::RunError("NCCL was abandoned after an earlier failure");
}

void NcclSession::start_group(const std::vector<Call>& calls) {
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

void NcclSession::wait_until_accepted(const std::string& what, const std::vector<int>& ranks) {
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
std::vector<int> NcclSession::numbers(std::vector<int> ranks) const {
    const std::vector<int>& slots = world_.impl().member.slots;
    if (slots.empty()) return ranks;
    for (int& rank : ranks) {
        rank = static_cast<int>(std::find(slots.begin(), slots.end(), rank) - slots.begin());
    }
    return ranks;
}

// True if NCCL has accepted all calls: they have been started, not moved.
bool NcclSession::accepted() {
    require_alive();
    NcclResult state = NcclResult::success;
    check(nccl_.async_error(communicator_, &state), "ncclCommGetAsyncError");
    check(state, "the communicator");
    return state == NcclResult::success;
}

CudaEvent* NcclSession::take_event() {
    CudaEvent* event = nullptr;
    if (events_.empty()) {
        check(cuda_.event_create(&event, kEventDisableTiming), "cudaEventCreateWithFlags");
        return event;
    }
    event = events_.back();
    events_.pop_back();
    return event;
}

void NcclSession::check(NcclResult result, const char* what) const {
    if (is_ok(result)) return;
    const std::string why = communicator_ ? nccl_.last_error(communicator_) : "";
    throw base::RunError(std::string("NCCL has failed in ") + what + " (" +
                         nccl_.error_string(result) + (why.empty() ? "" : ": ") + why +
                         "): set NCCL_DEBUG=INFO for details");
}

void NcclSession::check(CudaResult result, const char* what) const {
    if (result == CudaResult::success) return;
    throw base::RunError(std::string(what) + " failed (" + cuda_.error_string(result) + ")");
}

}  // namespace dbench::comm
