#pragma once
// A stand-in for NCCL and CUDA's streams, for ranks that are threads. Streams run late, in any
// random order that CUDA allows. Two ranks connect when both have started a group. Messages match
// as in NCCL, by their order between two ranks. The stand-in reports what would hang in NCCL: two
// groups that do not match, or a cycle of groups that wait for each other.
//
// A rank may have an emulated device. Its stream is then a queue of that device, and groups are
// launches on it with the memory that they touch; they run as late as the host's waits allow.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arena/emulated_device.hpp"
#include "base/random.hpp"
#include "comm/nccl/nccl_transport.hpp"

namespace dbench::comm {

struct NcclCommunicator {
    int rank;
};
struct CudaStream {
    int rank;
};
struct CudaEvent {
    bool happened;
    int rank = 0;
    arena::Event point{};  // on the queue, if the rank has a device
};

namespace tests {

class NcclStandIn {
public:
    explicit NcclStandIn(int ranks, uint64_t seed = 1)
        : random_(seed, base::Purpose::graph), ranks_(static_cast<size_t>(ranks)) {
        for (int rank = 0; rank < ranks; ++rank) {
            at(rank).communicator.rank = at(rank).stream.rank = rank;
            at(rank).card = rank;
            at(rank).met.resize(static_cast<size_t>(ranks));
        }
    }

    /// Returns what would hang, with the two calls or the cycle; "" if nothing would.
    std::string problem() {
        const std::lock_guard lock(mutex_);
        return problem_;
    }
    /// Makes the rank's communicator fail from now on.
    void fail(int rank, const std::string& why) {
        const std::lock_guard lock(mutex_);
        at(rank).error = why;
    }
    /// Lets a rank compute on the GPU of another.
    void share_card(int rank, int other) { at(rank).card = other; }

    /// Makes the queue that launches on a stream, which is itself a queue of the emulated device.
    using Over = std::function<std::unique_ptr<arena::Queue>(arena::Queue* stream)>;
    /// Gives a rank a device, which must outlive this object. Must be called before `parts` of this
    /// rank.
    void give(int rank, arena::EmulatedDevice& device, Over over = nullptr) {
        at(rank).device = &device;
        at(rank).queue = &device.add_queue();
        at(rank).over = std::move(over);
    }

    /// Returns the libraries as the rank sees them.
    NcclParts parts(int rank) { return {nccl(rank), cuda(rank), queue()}; }

    /// Forwards to a queue that another object owns.
    class Borrowed : public arena::Queue {
    public:
        explicit Borrowed(arena::Queue& queue) : Queue(queue.memories()), queue_(queue) {}
        void set_host_wait(arena::HostWait patience) override {
            queue_.set_host_wait(std::move(patience));
        }
        void launch(arena::Launch launch) override { queue_.launch(std::move(launch)); }
        arena::Event record() override { return queue_.record(); }
        void wait(arena::Event event, const char* why) override { queue_.wait(event, why); }
        void finish(arena::Event event, const char* why) override { queue_.finish(event, why); }
        void keep(std::shared_ptr<const void> memory) override { queue_.keep(std::move(memory)); }
        const void* device_copy(const std::shared_ptr<const void>& owner, const void* data,
                                int64_t bytes) override {
            return queue_.device_copy(owner, data, bytes);
        }

    private:
        arena::Queue& queue_;
    };

private:
    struct Call {
        enum class Kind : uint8_t { send, receive, sum } kind;
        int peer;  // unused in a sum
        const void* from;
        void* to;
        size_t count;
        NcclType type;
        bool done = false;

        size_t bytes() const {
            return count * (type == NcclType::int8 ? 1 : type == NcclType::float32 ? 4 : 8);
        }
        bool with(int rank) const { return kind == Kind::sum || peer == rank; }
        bool meets(const Call& other) const { return count == other.count && type == other.type; }
    };
    /// The next work of a stream: a group's calls, a kernel, or an event.
    struct Item {
        int group = 0;
        std::vector<Call> calls;
        std::function<void()> kernel;
        CudaEvent* event = nullptr;
    };
    /// The calls of a group that concern one other rank.
    struct Meeting {
        int group;
        std::vector<Call> calls;
    };
    struct Rank {
        NcclCommunicator communicator{};
        CudaStream stream{};
        int card = 0, groups = 0, polls = 0;
        bool joined = false, grouping = false, left = false, gone = false;
        std::vector<Call> open;                   // the group between group_start and group_end
        std::optional<std::vector<Call>> coming;  // a group that has not been put on the stream yet
        std::deque<Item> items;
        std::vector<std::vector<Meeting>> met;  // by the other rank
        std::string error, told;

        arena::EmulatedDevice* device = nullptr;
        arena::Queue* queue = nullptr;
        Over over;
        std::optional<Item> given;  // a group that has not been launched on the queue yet
        int completed = 0;          // number of groups
        std::thread::id home;       // the host's thread
        int asks = 0;               // queries for events by that thread, in a row
        bool wanted = false;        // another rank waits for the current work of this one
    };
    using Kind = Call::Kind;

    Rank& at(int rank) { return ranks_[static_cast<size_t>(rank)]; }
    int size() const { return static_cast<int>(ranks_.size()); }
    template <class Test>
    bool all(Test&& test) const {
        return std::all_of(ranks_.begin(), ranks_.end(), test);
    }

    // Matching of calls. The calls of two ranks are compared as soon as both have made them.

    static std::string text(const Call& call) {
        const std::string what =
            call.type == NcclType::int8
                ? std::to_string(call.count) + " bytes"
                : std::to_string(call.count) +
                      (call.type == NcclType::float32 ? " float32" : " float64");
        if (call.kind == Kind::sum) return "sums " + what;
        return call.kind == Kind::send
                   ? "sends " + what + " to rank " + std::to_string(call.peer)
                   : "receives " + what + " from rank " + std::to_string(call.peer);
    }
    static std::string text(int rank, const Meeting& meeting) {
        std::string list;
        for (const Call& call : meeting.calls) list += (list.empty() ? "" : ", ") + text(call);
        return "group " + std::to_string(meeting.group) + " of rank " + std::to_string(rank) +
               " (" + list + ")";
    }
    void report(const std::string& what) {
        if (problem_.empty()) problem_ = what;
    }

    static bool meet(const Meeting& a, const Meeting& b) {
        for (const auto& [mine, theirs] :
             {std::pair{Kind::send, Kind::receive}, std::pair{Kind::receive, Kind::send},
              std::pair{Kind::sum, Kind::sum}}) {
            const auto pick = [](const Meeting& from, Kind kind) {
                std::vector<Call> picked;
                for (const Call& call : from.calls) {
                    if (call.kind == kind) picked.push_back(call);
                }
                return picked;
            };
            const auto left = pick(a, mine), right = pick(b, theirs);
            if (!std::equal(left.begin(), left.end(), right.begin(), right.end(),
                            [](const Call& x, const Call& y) { return x.meets(y); })) {
                return false;
            }
        }
        return true;
    }

    /// Compares the `k`th groups of two ranks that concern each other.
    void compare(int a, int b, size_t k) {
        const auto &mine = at(a).met[b], &theirs = at(b).met[a];
        if (k >= mine.size()) return;
        if (k >= theirs.size()) {
            if (!at(b).left) return;
            report(text(a, mine[k]) + " waits for rank " + std::to_string(b) + ", which has left");
        } else if (!meet(mine[k], theirs[k])) {
            report(text(a, mine[k]) + " does not meet " + text(b, theirs[k]));
        }
    }

    void submit(int rank) {
        Rank& me = at(rank);
        Item item{++me.groups, std::move(*me.coming), nullptr, nullptr};
        me.coming.reset();
        for (int other = 0; other < size(); ++other) {
            Meeting meeting{item.group, {}};
            for (const Call& call : item.calls) {
                if (other != rank && call.with(other)) meeting.calls.push_back(call);
            }
            if (meeting.calls.empty()) continue;
            me.met[other].push_back(std::move(meeting));
            compare(rank, other, me.met[other].size() - 1);
        }
        if (me.device) {
            me.given = std::move(item);
        } else {
            me.items.push_back(std::move(item));
        }
    }

    // Devices.

    // Launches a group on the rank's device. Called without the mutex, because launches lock it.
    void launch(int rank, const Item& item) {
        std::vector<arena::Access> accesses;
        for (const Call& call : item.calls) {
            const auto bytes = static_cast<int64_t>(call.bytes());
            if (call.from) accesses.push_back(arena::reads(call.from, bytes));
            if (call.to) accesses.push_back(arena::writes(call.to, bytes));
        }
        at(rank).device->share(
            *at(rank).queue,
            {"group " + std::to_string(item.group) + " over NCCL", std::move(accesses), 0, nullptr},
            [this, rank, item] { return over(rank, item); });
    }

    /// Runs streams; returns true if the rank's group has moved.
    bool over(int rank, const Item& item) {
        arena::stumble();
        const std::lock_guard lock(mutex_);
        Rank& me = at(rank);
        if (me.gone) return true;
        if (me.items.empty() && me.completed < item.group) me.items.push_back(item);
        run();
        if (me.completed >= item.group) return true;
        for (const Call& call : me.items.front().calls) {
            for (int other = 0; other < size() && !call.done; ++other) {
                if (other != rank && call.with(other)) at(other).wanted = true;
            }
        }
        return false;
    }

    /// Returns true if an event has happened. The work before it runs only if the host has done
    /// nothing but query events, or if another rank waits for it.
    bool happened(const CudaEvent& event) {
        Rank& me = at(event.rank);
        bool runs = false;
        {
            constexpr int kPatience = 3;
            const std::lock_guard lock(mutex_);
            const bool host = std::this_thread::get_id() == me.home;
            runs = host ? ++me.asks > kPatience : std::exchange(me.wanted, false);
        }
        return runs ? me.device->advance(event.point) : me.device->has_run(event.point);
    }

    // Streams.

    void run() {
        std::vector<int> order(ranks_.size());
        std::iota(order.begin(), order.end(), 0);
        for (bool moved = true; moved && problem_.empty();) {
            moved = false;
            for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[below(k)]);
            for (const int rank : order) moved |= step(rank);
        }
        if (problem_.empty()) find_circle();
    }
    size_t below(size_t bound) { return static_cast<size_t>(random_.below(bound)); }

    bool step(int rank) {
        Rank& me = at(rank);
        if (me.items.empty()) return false;
        Item& item = me.items.front();
        if (item.kernel) item.kernel();
        if (item.event) item.event->happened = true;
        bool moved = false;
        for (Call& call : item.calls) {
            if (call.done) continue;
            moved |= call.kind == Kind::sum ? sum() : exchange(rank, call);
        }
        const auto done = [](const Call& call) { return call.done; };
        if (!std::all_of(item.calls.begin(), item.calls.end(), done)) return moved;
        me.completed = std::max(me.completed, item.group);
        me.items.pop_front();
        return true;
    }

    /// Returns the call of `rank`'s first group that matches a call of this kind by `peer`; null if
    /// none does.
    Call* counterpart(int rank, Kind kind, int peer) {
        if (at(rank).items.empty()) return nullptr;
        for (Call& call : at(rank).items.front().calls) {
            if (!call.done && call.kind == kind && (kind == Kind::sum || call.peer == peer)) {
                return &call;
            }
        }
        return nullptr;
    }

    bool exchange(int rank, Call& call) {
        const bool sends = call.kind == Kind::send;
        Call* const other = counterpart(call.peer, sends ? Kind::receive : Kind::send, rank);
        if (!other || !call.meets(*other)) return false;
        Call &from = sends ? call : *other, &to = sends ? *other : call;
        std::memcpy(to.to, from.from, from.bytes());
        return call.done = other->done = true;
    }

    bool sum() {
        std::vector<Call*> calls;
        for (int rank = 0; rank < size(); ++rank) {
            calls.push_back(counterpart(rank, Kind::sum, -1));
            if (!calls.back() || !calls.back()->meets(*calls[0])) return false;
        }
        calls[0]->type == NcclType::float32 ? add<float>(calls) : add<double>(calls);
        for (Call* call : calls) call->done = true;
        return true;
    }
    template <class T>
    static void add(const std::vector<Call*>& calls) {
        std::vector<T> sums(calls[0]->count);
        for (const Call* call : calls) {
            for (size_t k = 0; k < sums.size(); ++k)
                sums[k] += static_cast<const T*>(call->from)[k];
        }
        for (Call* call : calls) std::memcpy(call->to, sums.data(), call->bytes());
    }

    /// Returns the ranks that the first group of `rank` waits for while they are in another group,
    /// each with the call.
    std::vector<std::pair<int, const Call*>> waits(int rank) {
        std::vector<std::pair<int, const Call*>> others;
        if (at(rank).items.empty()) return others;
        for (const Call& call : at(rank).items.front().calls) {
            for (int other = 0; other < size() && !call.done; ++other) {
                if (other == rank || !call.with(other) || at(other).items.empty()) continue;
                const Kind kind = call.kind == Kind::send      ? Kind::receive
                                  : call.kind == Kind::receive ? Kind::send
                                                               : Kind::sum;
                if (!counterpart(other, kind, rank)) others.emplace_back(other, &call);
            }
        }
        return others;
    }

    /// Reports ranks whose groups wait for each other in a cycle. Called if nothing can run.
    void find_circle() {
        std::vector<int> state(ranks_.size());  // 1: on the path, 2: leads to no cycle
        std::vector<std::pair<int, const Call*>> path;
        const auto search = [&](const auto& self, int rank) -> bool {
            if (state[rank] == 2) return false;
            if (state[rank] == 1) {
                std::string circle;
                const auto first = std::find_if(path.begin(), path.end(),
                                                [&](const auto& on) { return on.first == rank; });
                for (auto on = first; on != path.end(); ++on) {
                    circle += (circle.empty() ? "" : ", which waits for ") +
                              text(on->first, {at(on->first).items.front().group, {*on->second}});
                }
                report(circle + ", which waits for the first");
                return true;
            }
            state[rank] = 1;
            for (const auto& [other, call] : waits(rank)) {
                path.emplace_back(rank, call);
                if (self(self, other)) return true;
                path.pop_back();
            }
            state[rank] = 2;
            return false;
        };
        for (int rank = 0; rank < size(); ++rank) {
            if (search(search, rank)) return;
        }
    }

    // Functions of NCCL and CUDA.

    NcclResult say(int rank, Call call) {
        const std::lock_guard lock(mutex_);
        if (!at(rank).grouping) return NcclResult::invalid_usage;
        at(rank).open.push_back(call);
        return NcclResult::success;
    }

    /// Returns true if all ranks that take part in a rank's next group have started a group.
    bool connected(const Rank& me) {
        return std::all_of(me.coming->begin(), me.coming->end(), [&](const Call& call) {
            for (int other = 0; other < size(); ++other) {
                const Rank& peer = at(other);
                if (call.with(other) && !peer.coming && peer.groups == 0) return false;
            }
            return true;
        });
    }

    NcclResult state_of(Rank& me) {
        if (!problem_.empty() || !me.error.empty()) return NcclResult::system_error;
        if (!all([](const Rank& rank) { return rank.joined; })) return NcclResult::in_progress;
        if (me.coming) {
            if (me.polls-- > 0 || !connected(me)) return NcclResult::in_progress;
            submit(me.communicator.rank);
        }
        const auto over = [](const Rank& rank) { return rank.left || rank.gone; };
        return me.left && !all(over) ? NcclResult::in_progress : NcclResult::success;
    }

    NcclApi nccl(int rank) {
        NcclApi api;
        api.get_version = [](int* version) {
            *version = 22809;
            return NcclResult::success;
        };
        api.get_unique_id = [](NcclId* id) {
            std::snprintf(id->bytes, sizeof id->bytes, "the stand-in's");
            return NcclResult::success;
        };
        api.init_rank = [this, rank](NcclCommunicator** communicator, int ranks, NcclId id,
                                     int number, NcclConfig* config) {
            const std::lock_guard lock(mutex_);
            if (ranks != size() || number != rank || std::strcmp(id.bytes, "the stand-in's") ||
                config->magic != 0xcafebeef || config->blocking != 0) {
                return NcclResult::invalid_usage;
            }
            *communicator = &at(rank).communicator;
            at(rank).joined = true;
            at(rank).home = std::this_thread::get_id();
            return NcclResult::in_progress;
        };
        api.group_start = [this, rank] {
            const std::lock_guard lock(mutex_);
            if (at(rank).grouping || at(rank).coming) return NcclResult::invalid_usage;
            at(rank).grouping = true;
            at(rank).asks = 0;
            return NcclResult::success;
        };
        api.group_end = [this, rank] {
            const std::lock_guard lock(mutex_);
            Rank& me = at(rank);
            me.grouping = false;
            me.coming = std::exchange(me.open, {});
            me.polls = static_cast<int>(below(3));
            return NcclResult::in_progress;
        };
        api.send = [this, rank](const void* from, size_t count, NcclType type, int peer,
                                NcclCommunicator*, CudaStream*) {
            return say(rank, {Kind::send, peer, from, nullptr, count, type});
        };
        api.recv = [this, rank](void* to, size_t count, NcclType type, int peer, NcclCommunicator*,
                                CudaStream*) {
            return say(rank, {Kind::receive, peer, nullptr, to, count, type});
        };
        api.all_reduce = [this, rank](const void* from, void* to, size_t count, NcclType type,
                                      NcclSum, NcclCommunicator*, CudaStream*) {
            return say(rank, {Kind::sum, -1, from, to, count, type});
        };
        api.async_error = [this, rank](NcclCommunicator*, NcclResult* state) {
            std::optional<Item> given;
            arena::stumble();
            {
                const std::lock_guard lock(mutex_);
                *state = state_of(at(rank));
                given = std::exchange(at(rank).given, std::nullopt);
            }
            arena::stumble();
            if (given) launch(rank, *given);
            return NcclResult::success;
        };
        api.finalize = [this, rank](NcclCommunicator*) {
            const std::lock_guard lock(mutex_);
            at(rank).left = true;
            for (int other = 0; other < size(); ++other) {
                compare(other, rank, at(rank).met[other].size());
            }
            return NcclResult::in_progress;
        };
        api.destroy = [](NcclCommunicator*) { return NcclResult::success; };
        api.abort = [this, rank](NcclCommunicator*) {
            const std::lock_guard lock(mutex_);
            at(rank).gone = true;
            at(rank).items.clear();
            return NcclResult::success;
        };
        api.error_string = [](NcclResult) { return "system error"; };
        api.last_error = [this, rank](NcclCommunicator*) {
            const std::lock_guard lock(mutex_);
            Rank& me = at(rank);
            me.told = problem_.empty() ? me.error : problem_;
            return me.told.c_str();
        };
        return api;
    }

    CudaApi cuda(int rank) {
        CudaApi api;
        api.set_device = [](int device) { return CudaResult{device == 0 ? 0 : 101}; };
        api.pci_bus_id = [this, rank](char* text, int length, int device) {
            std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", at(rank).card);
            return CudaResult{device == 0 ? 0 : 101};
        };
        api.stream_priority_range = [](int* least, int* greatest) {
            *least = 0;
            *greatest = -5;
            return CudaResult::success;
        };
        api.stream_create = [this, rank](CudaStream** stream, unsigned flags, int priority) {
            *stream = &at(rank).stream;
            return CudaResult{flags == kStreamNonBlocking && priority == -5 ? 0 : 1};
        };
        api.stream_destroy = [](CudaStream*) { return CudaResult::success; };
        api.event_create = [](CudaEvent** event, unsigned flags) {
            *event = new CudaEvent{false};
            return CudaResult{flags == kEventDisableTiming ? 0 : 1};
        };
        api.event_record = [this](CudaEvent* event, CudaStream* stream) {
            // Behaves as a launch: fails if this thread has left an earlier error.
            if (left_behind()) return CudaResult::not_ready;
            event->rank = stream->rank;
            if (at(stream->rank).device) {
                event->point = at(stream->rank).queue->record();
                return CudaResult::success;
            }
            const std::lock_guard lock(mutex_);
            event->happened = false;
            at(stream->rank).items.push_back({0, {}, nullptr, event});
            return CudaResult::success;
        };
        api.event_query = [this](CudaEvent* event) {
            bool happened = false;
            if (at(event->rank).device) {
                happened = this->happened(*event);
            } else {
                const std::lock_guard lock(mutex_);
                if (below(4) > 0) run();  // at random, to run late
                happened = event->happened;
            }
            if (happened) return CudaResult::success;
            left_behind() = true;
            return CudaResult::not_ready;
        };
        api.get_last_error = [] {
            return std::exchange(left_behind(), false) ? CudaResult::not_ready
                                                       : CudaResult::success;
        };
        api.event_destroy = [this](CudaEvent* event) {
            const std::lock_guard lock(mutex_);
            for (Rank& rank : ranks_) {
                std::erase_if(rank.items, [&](const Item& item) { return item.event == event; });
            }
            delete event;
            return CudaResult::success;
        };
        api.error_string = [](CudaResult) { return "invalid device ordinal"; };
        return api;
    }

    /// True if this thread got "not ready" and has not cleared it: CUDA keeps it as the thread's
    /// last error.
    static bool& left_behind() {
        thread_local bool left = false;
        return left;
    }

    /// Kernels of a stream, with blocks and iterations in a random order.
    class StreamQueue : public arena::Queue {
    public:
        StreamQueue(NcclStandIn& all, int rank) : all_(all), rank_(rank) {}
        void launch(arena::Launch launch) override {
            const std::lock_guard lock(all_.mutex_);
            const auto seed = static_cast<uint64_t>(all_.random_.below(UINT64_MAX));
            all_.at(rank_).items.push_back(
                {0, {}, [launch = std::move(launch), seed, placed = std::exchange(placed_, {})] {
                     std::vector<int64_t> blocks(static_cast<size_t>(launch.blocks));
                     std::iota(blocks.begin(), blocks.end(), 0);
                     base::Random random(seed, base::Purpose::graph);
                     for (size_t k = blocks.size(); k > 1; --k) {
                         std::swap(blocks[k - 1], blocks[random.below(k)]);
                     }
                     for (const int64_t block : blocks) launch.run(block, random.below(UINT64_MAX));
                 }});
        }
        // There is no other queue: hosts that compute wait for transfers.
        arena::Event record() override { throw std::logic_error("nobody waits for this queue"); }
        void wait(arena::Event, const char*) override {
            throw std::logic_error("there is no other queue");
        }
        void finish(arena::Event, const char*) override { record(); }
        void keep(std::shared_ptr<const void> memory) override {
            const std::lock_guard lock(all_.mutex_);
            all_.at(rank_).items.push_back({0, {}, [memory = std::move(memory)] {}});
        }
        /// Keeps the memory until the next launch, which reads it, has run.
        const void* device_copy(const std::shared_ptr<const void>& owner, const void* data,
                                int64_t) override {
            const std::lock_guard lock(all_.mutex_);
            placed_.push_back(owner);
            return data;
        }

    private:
        NcclStandIn& all_;
        int rank_;
        std::vector<std::shared_ptr<const void>> placed_;
    };
    std::function<std::unique_ptr<arena::Queue>(CudaStream*)> queue() {
        return [this](CudaStream* stream) -> std::unique_ptr<arena::Queue> {
            const Rank& me = at(stream->rank);
            if (me.over) return me.over(me.queue);
            if (me.device) return std::make_unique<Borrowed>(*me.queue);
            return std::make_unique<StreamQueue>(*this, stream->rank);
        };
    }

    std::mutex mutex_;
    base::Random random_;
    std::vector<Rank> ranks_;
    std::string problem_;
};

}  // namespace tests
}  // namespace dbench::comm
