#include "comm/world/world.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/framing.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "comm/transport/renumbered.hpp"
#include "comm/wait.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm {
namespace {

constexpr double kGraceSeconds = 5;  // for the end after a failure

/// The answer of a barrier: the ranks learn only that all have called it.
std::string empty_answer(const std::vector<std::string>&) { return ""; }

/// Adds the texts as arrays of doubles, element by element, in rank order.
std::string sum_of(const std::vector<std::string>& texts) {
    std::vector<double> sums = base::doubles_of(texts[0]);
    for (size_t r = 1; r < texts.size(); ++r) {
        const std::vector<double> values = base::doubles_of(texts[r]);
        DBENCH_EXPECT(values.size() == sums.size());
        for (size_t k = 0; k < sums.size(); ++k) sums[k] += values[k];
    }
    return base::bytes_of(sums);
}

/// Records the rank that a wait depended on last. The query is slow with many ranks, so it takes at
/// most a tenth of the waiting time.
class LastAwaited {
public:
    explicit LastAwaited(const std::function<std::vector<int>()>& ranks) : ranks_(ranks) {}
    /// Call it after each poll that has found the wait unfinished.
    void note() {
        const double begin = base::now();
        if (begin < next_) return;
        const std::vector<int> ranks = ranks_();
        if (!ranks.empty()) rank_ = ranks.front();
        const double end = base::now();
        next_ = end + 10 * (end - begin);
    }
    int rank() const { return rank_; }

private:
    const std::function<std::vector<int>()>& ranks_;
    double next_ = 0;
    int rank_ = -1;
};

/// Returns the state with a changed membership. The counters of collectives and exchanges continue,
/// and a failure is not forgotten.
std::unique_ptr<World::Impl> with_membership(std::unique_ptr<World::Impl> impl,
                                             const std::function<Membership(Membership)>& change) {
    Membership member = std::move(impl->member);
    std::unique_ptr<RowTransport> launched_rows = std::move(impl->launched_rows);
    const uint64_t collectives = impl->collectives, exchanges = impl->exchanges;
    const bool failed = impl->failed;
    impl.reset();
    impl = std::make_unique<World::Impl>(change(std::move(member)));
    impl->launched_rows = std::move(launched_rows);
    impl->collectives = collectives;
    impl->exchanges = exchanges;
    impl->failed = failed;
    return impl;
}

}  // namespace

World::Impl::Impl(Membership given)
    : member(std::move(given)),
      control_messages(*member.control, member.rank, member.size),
      engine(member.size > 1, member.place.compute()),
      deadline(timeout()) {
    DBENCH_EXPECT(member.rows && member.control);
    stop_timeout();  // throws now if the environment is wrong, and not in the middle of a run
}

World::World(Membership member) : impl_(std::make_unique<Impl>(std::move(member))) {}

World::~World() {
    if (!impl_) return;  // its numbers or its transport could not be changed
    // Leaving MPI waits for all ranks without a deadline, so all ranks meet here first, with a
    // deadline.
    try {
        if (!impl_->failed && size() > 1) {
            const double seconds = std::uncaught_exceptions() > 0 ? kGraceSeconds : 0;
            impl_->answer("the end of the run", "", empty_answer, seconds);
        }
    } catch (const std::exception& error) {
        base::warn(error.what());
        impl_->failed = true;
    }
    impl_->engine.halt();
    leave_queues();
    if (!impl_->failed) return;
    impl_->rows().abandon();
    if (impl_->launched_rows) impl_->launched_rows->abandon();
    impl_->control().abandon();
}

int World::rank() const { return impl_->rank(); }
int World::size() const { return impl_->size(); }
int World::local_rank() const { return impl_->member.local_rank; }
int World::local_size() const { return impl_->member.local_size; }
const std::string& World::host() const { return impl_->member.host; }
int World::slot() const { return impl_->member.slot(); }
const arena::Place& World::place() const { return impl_->member.place; }

void World::leave_queues() {
    place().compute().set_host_wait(nullptr);
    place().exchange().set_host_wait(nullptr);
}

void World::compute_on(const arena::Place& place) {
    leave_queues();
    impl_->member.place = place;
    impl_->engine.compute_on(place.compute());
    const arena::HostWait patience = [this, main = std::this_thread::get_id()](
                                         const std::string& what,
                                         const std::function<bool()>& passed) {
        // Launches may be ordered after rows that other ranks have yet to send.
        const bool waits_for_rows = impl_->rows().queue() != nullptr;
        const auto done = [&] {
            if (passed()) return true;
            if (waits_for_rows) impl_->engine.rethrow_failure();
            return false;
        };
        const auto awaited_ranks = [&] {
            std::vector<int> ranks;
            if (waits_for_rows) ranks = impl_->engine.awaited_ranks();
            return ranks.empty() ? std::vector<int>{rank()} : ranks;
        };
        if (std::this_thread::get_id() == main) return impl_->wait(what, done, awaited_ranks);
        // Control messages belong to the main thread, which notices failures.
        const auto check_halted = [this] {
            if (impl_->engine.on_progress_thread()) impl_->engine.check_halted();
        };
        comm::wait({what, done, awaited_ranks, check_halted, deadline()});
    };
    place.compute().set_host_wait(patience);
    place.exchange().set_host_wait(patience);
}

double World::deadline() const { return impl_->deadline; }
const WaitTimes& World::wait_times() const { return impl_->times; }
double World::progress_seconds() { return impl_->engine.thread_seconds(); }

void World::renumber(std::vector<int> slots) {
    DBENCH_EXPECT(slots.empty() || static_cast<int>(slots.size()) == size());
    if (std::is_sorted(slots.begin(), slots.end())) slots.clear();
    if (slots == impl_->member.slots) return;
    impl_ = with_membership(std::move(impl_), [&](Membership member) {
        return renumbered(std::move(member), std::move(slots));
    });
}

void World::use_row_transport(std::unique_ptr<RowTransport> rows) {
    if (!rows && !impl_->launched_rows) return;
    const bool failed = impl_->failed;
    std::unique_ptr<RowTransport> launched = std::move(impl_->launched_rows);
    impl_ = with_membership(std::move(impl_), [&](Membership member) {
        std::vector<int> slots = member.slots;
        member = renumbered(std::move(member), {});
        if (!launched) {
            launched = std::move(member.rows);
        } else if (failed || std::uncaught_exceptions() > 0) {
            member.rows->abandon();  // the other ranks may not reach this point
        }
        member.rows = rows ? std::move(rows) : std::move(launched);
        return renumbered(std::move(member), std::move(slots));
    });
    impl_->launched_rows = std::move(launched);
}

void World::barrier() { impl_->answer("a barrier", "", empty_answer); }

void World::broadcast(std::string& text) { impl_->broadcast("a broadcast", text); }

std::vector<std::string> World::gather(const std::string& bytes) {
    return impl_->gather("a gather", bytes);
}

std::vector<std::string> World::all_gather(const std::string& bytes) {
    return base::split_texts(impl_->answer("an all-gather", bytes, base::join_texts));
}

void World::sum(std::vector<double>& values) {
    values = base::doubles_of(impl_->answer("a sum", base::bytes_of(values), sum_of));
}

void World::agree(const std::string& error, bool user_error) {
    const std::vector<std::string> all =
        all_gather(error.empty() ? "" : (user_error ? "u" : "r") + error);
    for (size_t r = 0; r < all.size(); ++r) {
        if (all[r].empty()) continue;
        const std::string text = (r ? "rank " + std::to_string(r) + ": " : "") + all[r].substr(1);
        if (all[r][0] == 'u') throw base::UserError(text);
        throw base::RunError(text);
    }
}

void World::report_failure(const std::string& message, bool user_error) {
    impl_->failed = true;
    if (rank() == 0) return;
    try {
        // Rank 0 reads the report between two steps of its work, records it in the result file and
        // ends the job. Only if it does not, this rank ends the job.
        const double seconds = std::max(kGraceSeconds, std::min(stop_timeout(), timeout()));
        impl_->control_messages.report_failure((user_error ? 'u' : 'r') + message, seconds);
    } catch (const std::exception& error) {
        base::warn(error.what());
    }
}

void World::check_failures() { impl_->check_failures(); }

void World::check_own_wait(const std::string& what, double began) {
    check_failures();
    if (size() > 1) check_stop_deadline(what, began);
}

double World::pause(double seconds) {
    return comm::pause(seconds, [this] { check_failures(); });
}

void World::abort(int status) {
    impl_->failed = true;
    impl_->control().abort(status);
    std::_Exit(status);
}

void World::Impl::check_failures() {
    if (size() == 1) return;
    if (const auto message = control_messages.take()) {
        failed = true;
        const bool user_error = message->text.starts_with('u');
        throw PeerFailure("rank " + std::to_string(message->rank) + " failed: " +
                              message->text.substr(std::min<size_t>(1, message->text.size())),
                          user_error);
    }
}

void World::Impl::wait(const std::string& what, const std::function<bool()>& done,
                       const std::function<std::vector<int>()>& awaited_ranks, double seconds,
                       int64_t bucket) {
    if (done()) return;
    const double limit = seconds > 0 ? seconds : deadline;
    if (engine.on_progress_thread()) {
        // Only the main thread reads control messages; it notices failures meanwhile.
        return comm::wait({what, done, awaited_ranks, [this] { engine.check_halted(); }, limit});
    }
    const ControlMessages::Waiting waiting(control_messages, awaited_ranks);
    LastAwaited last(awaited_ranks);
    const auto done_or_noted = [&] {
        if (done()) return true;
        last.note();
        return false;
    };
    const double begin = base::now();
    const auto check = [this] { check_failures(); };
    const auto diagnose_stall = [&] { return control_messages.diagnose_stall(done, check); };
    // A shorter limit, such as that after a failure, holds whatever the other ranks do.
    const auto last_progress = [&] {
        return limit < deadline ? begin : control_messages.last_progress();
    };
    try {
        comm::wait({what, done_or_noted, awaited_ranks, check, limit,
                    size() > 1 ? std::function<StallDiagnosis()>(diagnose_stall) : nullptr,
                    last_progress});
    } catch (const Stalled&) {
        failed = true;
        throw;
    }
    waited_since(begin, last.rank(), bucket);
}

void World::Impl::waited_since(double begin, int rank, int64_t bucket) {
    const double end = base::now();
    times.wait += end - begin;
    if (rank >= 0) {
        times.awaited_rank = rank;
        ++times.attributed_waits;
    }
    if (!base::tracing()) return;
    base::TraceEvent event;
    event.work = base::Work::wait;
    event.begin = begin;
    event.end = end;
    event.iteration = base::traced_iteration();
    event.bucket = bucket;
    event.peer = rank;
    base::add_to_trace(event);
}

void World::Impl::move(const std::string& what, Transport& transport, std::span<const Message> out,
                       std::span<const Message> in, double seconds) {
    if (out.empty() && in.empty()) return;
    try {
        const auto transfer = transport.start(out, in);
        wait(
            what, [&] { return transfer->test(); }, [&] { return transfer->awaited_ranks(); },
            seconds);
    } catch (...) {
        failed = true;
        throw;
    }
}

void World::Impl::wait(const std::string& what, OperationInFlight& operation) {
    const bool before = operation.done();
    const int64_t bucket = operation.trace ? operation.trace->bucket : -1;
    const double begin = base::now();
    if (engine.test(operation)) {  // which may have moved much data
        if (!before) waited_since(begin, -1, bucket);
        return;
    }
    times.wait += base::now() - begin;
    const Engine::Waiting waiting(engine);
    wait(
        what, [&] { return engine.test(operation); },
        [&] { return engine.awaited_ranks(operation); }, 0, bucket);
}

}  // namespace dbench::comm
