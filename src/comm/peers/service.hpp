#pragma once
// Asynchronous training: each rank runs at its own pace, and ranks serve each other's requests
// while they compute and after they have finished. This folder has the service (this file), which
// starts and ends a span of iterations and agrees on where to stop, and two kinds of requests:
// averages of pairs (pair_averaging.hpp) and published rows (mailbox.hpp).
//
// Ranks send each other notes: messages of 16 bytes on the row transport, which are not the control
// messages of world/. Each rank listens to its peers, and every rank listens to rank 0, which
// counts the ranks that have finished. Notes of one sender arrive in order. A span takes these
// steps:
//   1. begin            All ranks together.
//   2. may_begin        Before each iteration, until it returns false.
//   3. finish_span      Waits until all ranks have called it; then nothing is in flight any more.
// No rank waits for a rank that computes, except in `finish_span`. A request to stop goes to
// rank 0, which queries how far each rank is. No rank begins another iteration before rank 0 has
// announced the last one: the furthest iteration that any rank has begun.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "comm/world/engine.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm {

/// The common base of PairAveraging and Mailbox. It is an operation in flight for the whole
/// training: the engine advances it, so that a rank serves requests while its main thread computes.
class Service : public OperationInFlight {
public:
    /// The end of a span: iterations that every rank has completed, and whether a request to
    /// stop ended the span early.
    struct SpanEnd {
        int64_t iteration;
        bool stop;
    };

    /// Begins the iterations first .. end - 1, the same on all ranks. Collective.
    void begin(int64_t first, int64_t end);
    /// Call before each iteration t, in order, with this rank's request to stop. Returns true if
    /// the iteration belongs to the span.
    bool may_begin(int64_t t, bool stop_requested);
    /// True if all ranks have agreed to stop before the span's end.
    bool stopping() const;
    /// Serves requests until all ranks have finished their iterations. Collective. Waits for a slow
    /// rank as long as it makes progress.
    SpanEnd finish_span();
    /// Ends the service. Collective, after `finish_span`.
    void close();

protected:
    /// The kinds of notes. Their values travel in messages. A derived class uses the values from
    /// `own` on.
    enum class Kind : int64_t {
        finished,
        all_finished,
        stop_request,
        progress_query,
        progress,
        limit,
        heartbeat,
        closing,
        own
    };
    static Kind own(int64_t k) { return static_cast<Kind>(static_cast<int64_t>(Kind::own) + k); }

    /// `peers`: the ranks with which this rank exchanges notes. If i is a peer of j, j must be a
    /// peer of i. Throws UserError if rows travel in one order (NCCL). Collective.
    Service(World& world, const std::vector<int>& peers);

    // Any thread may call the following functions. The caller holds the mutex.

    /// Handles a note of a kind that the derived class defines.
    virtual void handle_derived_note(int from, Kind kind, int64_t value) = 0;
    virtual void advance_requests() = 0;         ///< Advances all requests.
    virtual bool has_own_requests() const = 0;   ///< True if a request of this rank is unfinished.
    virtual bool has_peer_requests() const = 0;  ///< True if a request of another rank is.
    /// The ranks that this rank's next step waits for.
    virtual std::vector<int> awaited_by_requests() const = 0;
    /// Starts to send a note. Requires the mutex.
    void send(int to, Kind kind, int64_t value = 0);

    /// Waits until `condition`, which is called with the mutex held.
    void wait_until(const std::string& what, const std::function<bool()>& condition);

    World::Impl& world_impl() const { return world_impl_; }
    int row_tag() const { return world_impl_.service_tag(1); }
    int rank() const { return world_impl_.rank(); }

    mutable std::mutex mutex_;  ///< Protects all members below and those of derived classes.

private:
    /// A message of 16 bytes.
    struct Note {
        int64_t kind = 0, value = 0;
    };
    /// The receive side of the notes of one rank.
    struct Channel {
        int rank;
        Note note;  ///< The next note.
        std::unique_ptr<Transfer> transfer;
    };
    /// A note that is being sent.
    struct Sent {
        Note note;
        std::unique_ptr<Transfer> transfer;
    };

    bool advance() final;
    std::vector<int> awaited_ranks() const final;
    /// Starts to receive the channel's next note.
    void listen(Channel& channel);
    /// Handles a note of this class, or passes it to the derived class.
    void handle_note(int from, Kind kind, int64_t value);
    /// Sends a note to all ranks, this one included. Rank 0 only.
    void send_to_all(Kind kind, int64_t value = 0);
    /// Sends a note to rank 0.
    void send_to_coordinator(Kind kind, int64_t value = 0);
    /// Sends a heartbeat if the last one is long ago: other ranks to rank 0, rank 0 to the ranks
    /// that wait.
    void send_heartbeat(double now);
    /// On rank 0: announces the end of the span if all ranks have finished and no query is open.
    void announce_end_if_finished();

    World& world_;
    World::Impl& world_impl_;
    std::vector<Channel> channels_;
    std::list<Sent> sent_;
    bool closing_ = false;

    // The current span.
    int64_t begun_ = 0;  ///< Iterations of the run that this rank has begun.
    int64_t limit_ = 0;  ///< End of the span: iterations below it may begin.
    /// True if this rank has requested to stop; waits for the new limit; has received it; knows
    /// that all ranks have finished.
    bool stop_requested_ = false, awaiting_limit_ = false, stopping_ = false, all_finished_ = false;

    // A rank for which others wait in `finish_span` sends heartbeats; rank 0 passes them on.
    const double heartbeat_interval_;  ///< Seconds between two heartbeats.
    double last_heartbeat_ = 0;
    int64_t heartbeats_ = 0;  ///< Number of heartbeats received.

    // Only on rank 0.
    std::vector<bool> finished_, answered_;
    bool querying_ = false;
    int64_t furthest_ = 0;
};

/// Makes a service and adds it to the engine's list. If it is destroyed before the service has been
/// closed (during stack unwinding), nothing can be exchanged in this World any more.
template <class Kind>
class RunningService {
public:
    template <class... Arguments>
    explicit RunningService(World& world, Arguments&&... arguments)
        : engine_(world.impl().engine),
          service_(std::make_shared<Kind>(world, std::forward<Arguments>(arguments)...)) {
        engine_.start(service_, FirstAdvance::engine);
    }
    ~RunningService() {
        if (!service_->done()) engine_.halt();
    }
    RunningService(const RunningService&) = delete;
    RunningService& operator=(const RunningService&) = delete;

    Kind* operator->() const { return service_.get(); }
    Kind& operator*() const { return *service_; }

private:
    Engine& engine_;
    std::shared_ptr<Kind> service_;
};

}  // namespace dbench::comm
