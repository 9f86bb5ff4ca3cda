#pragma once
// What ranks do for one another in asynchronous training, where each goes at its own pace: while
// its program computes, a rank answers the others, and so it does when it has finished before them.
// What they ask for is in the derived classes (pair_averaging.hpp, mailbox.hpp).
//
// Ranks speak in notes of 16 bytes. Each listens to its peers, and all to rank 0, which counts
// those that have finished. Notes of one sender arrive in order.
//
// A run goes in segments of iterations. In steps:
//   1. begin      all together
//   2. may_begin  before each iteration, until it says no
//   3. rest       waits until all have come here; by then nothing is on its way any more
// Nobody waits for a rank that computes but in `rest`. A wish to stop goes to rank 0, which asks
// all how far they are; nobody begins another iteration before it has told them where all stop:
// after the iteration that the foremost has begun.

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

class Service : public Pending {
public:
    /// Iterations completed by every rank at the end of a segment, and whether that is because a
    /// rank has wished to stop.
    struct Reached {
        int64_t iteration;
        bool stop;
    };

    /// Begins iterations first .. end - 1, the same on all ranks. Collective.
    void begin(int64_t first, int64_t end);
    /// Before iteration t, in order, with this rank's wish to stop: whether it belongs to the
    /// segment.
    bool may_begin(int64_t t, bool wish);
    /// Whether all have agreed to stop before the segment's end.
    bool stopping() const;
    /// Serves until all ranks have finished their iterations. Collective. A rank that is merely
    /// slow is waited for as long as it goes on.
    Reached rest();
    /// Ends the service. Collective, after `rest`.
    void close();

protected:
    /// The values travel; a derived class has those from `own` on.
    enum class Kind : int64_t { finished, go, wish, query, begun, limit, beat, bye, own };
    static Kind own(int64_t k) { return static_cast<Kind>(static_cast<int64_t>(Kind::own) + k); }

    /// `peers`: ranks that may send notes to this one or get some, so that if i is a peer of j, j
    /// is one of i. Collective.
    Service(World& world, const std::vector<int>& peers);

    // With the mutex held, by any thread:
    virtual void heard(int from, Kind kind, int64_t value) = 0;  ///< a note of the derived class
    virtual void serve() = 0;                                    ///< moves the rest along
    virtual bool asks() const = 0;    ///< whether something is left of this rank's own requests
    virtual bool serves() const = 0;  ///< whether something is left of the others'
    virtual std::vector<int> awaited() const = 0;  ///< whom the first of these wait for
    void send(int to, Kind kind, int64_t value = 0);

    /// Waits until `there`, which is called with the mutex held.
    void wait_until(const std::string& what, const std::function<bool()>& there);

    World::Impl& world() const { return world_; }
    int row_tag() const { return world_.service_tag(1); }
    int rank() const { return world_.rank(); }

    mutable std::mutex mutex_;  ///< of all that follows, here and in derived classes

private:
    struct Note {
        int64_t kind = 0, value = 0;
    };
    struct Channel {
        int rank;
        Note note;  ///< the next one
        std::unique_ptr<Transfer> transfer;
    };
    struct Sent {
        Note note;
        std::unique_ptr<Transfer> transfer;
    };

    bool advance() final;
    std::vector<int> owing() const final;
    void listen(Channel& channel);
    void hear(int from, Kind kind, int64_t value);
    void tell_all(Kind kind, int64_t value = 0);
    void tell_coordinator(Kind kind, int64_t value = 0);
    void show_life(double now);
    void release();

    World& owner_;
    World::Impl& world_;
    std::vector<Channel> channels_;
    std::list<Sent> sent_;
    bool closing_ = false;

    // Of the segment.
    int64_t begun_ = 0;  ///< iterations of the run that this rank has begun
    int64_t limit_ = 0;
    bool wished_ = false, frozen_ = false, stopping_ = false, released_ = false;

    // A rank that others wait for in `rest` shows that it lives; rank 0 passes that on.
    const double beat_;  ///< seconds between two such notes
    double last_beat_ = 0;
    int64_t beats_ = 0;  ///< heard

    // Rank 0.
    std::vector<bool> finished_, answered_;
    bool querying_ = false;
    int64_t foremost_ = 0;
};

/// Keeps a service in the engine's care. Where it goes without having been closed (an error is on
/// its way), nothing can be exchanged in this World any more.
template <class Kind>
class InService {
public:
    template <class... Arguments>
    explicit InService(World& world, Arguments&&... arguments)
        : engine_(world.impl().engine),
          service_(std::make_shared<Kind>(world, std::forward<Arguments>(arguments)...)) {
        engine_.start(service_, false);
    }
    ~InService() {
        if (!service_->done()) engine_.halt();
    }
    InService(const InService&) = delete;
    InService& operator=(const InService&) = delete;

    Kind* operator->() const { return service_.get(); }
    Kind& operator*() const { return *service_; }

private:
    Engine& engine_;
    std::shared_ptr<Kind> service_;
};

}  // namespace dbench::comm
