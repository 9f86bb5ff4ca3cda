#pragma once
// An emulated device for tests. Its queues store launches and run them later in a random order that
// the queues and events allow, with blocks of different launches interleaved. The device reports
// launches that access the same memory without anything that orders them, host accesses that are
// not ordered after launches, and accesses to memory that the device cannot see.

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/seen_memory.hpp"
#include "arena/stumble.hpp"
#include "base/random.hpp"

namespace dbench::arena {

/// The device. All functions may be called from any thread.
class EmulatedDevice {
public:
    /// When launches run. `late`: as late as the host's waits allow, so that everything that may
    /// still be pending is pending. `random`: at random times before that.
    enum class Pace : uint8_t { late, random };

    /// `forgotten` is the index of a wait that is omitted, counted from 0; -1 omits none.
    explicit EmulatedDevice(uint64_t seed, int64_t forgotten = -1, Pace pace = Pace::late)
        : random_(seed, base::Purpose::graph), forgotten_(forgotten), pace_(pace) {}
    Queue& add_queue() {
        queues_.push_back(std::make_unique<EmulatedQueue>(*this, static_cast<int>(queues_.size())));
        return *queues_.back();
    }

    /// Gives the queues that are added later this memory. By default it is the host's own memory.
    void set_memories(Memories memories) { memories_ = std::move(memories); }
    /// Does the same, and makes the device check that launches only access `memory`, which must
    /// outlive the device. Without this call launches may access all memory.
    void set_visible_memory(const SeenMemory& memory) {
        seen_ = &memory;
        memories_ = memory.memories();
    }
    const Memories& memories() const { return memories_; }

    /// Omits all waits with this reason.
    void omit_wait(std::string why) { left_out_ = std::move(why); }
    /// Number of waits so far.
    int64_t waits() const { return waits_; }
    /// The reasons of all waits so far.
    const std::set<std::string>& reasons() const { return reasons_; }
    /// Number of read-only copies made so far.
    int64_t copies() const { return copies_; }

    /// Reports of errors: each pair of launches that share memory, of which one writes it, and that
    /// no queue, event or host wait orders; host accesses to memory of pending launches; and
    /// accesses to memory that the device cannot see, or can no longer see when the launch runs.
    const std::vector<std::string>& conflicts() const { return conflicts_; }

    /// Reports that the host reads or writes memory.
    void touch(const std::string& name, const Access& access) {
        const std::lock_guard lock(mutex_);
        for (const Item& item : pending_) {
            for (const Access& other : item.launch.accesses) report(item, other, name, access);
        }
    }

    /// Returns true if everything before a point of a queue has run.
    bool has_run(Event event) {
        const std::lock_guard lock(mutex_);
        return ran(event);
    }
    /// Runs everything before a point of a queue as far as possible. Returns true if the point has
    /// been reached.
    bool advance(Event event) {
        stumble();
        const std::lock_guard lock(mutex_);
        return run_until(event);
    }
    /// Launches an operation in which other devices take part. After it has begun, `over` is called
    /// repeatedly until it returns true.
    void share(Queue& queue, Launch launch, std::function<bool()> over) {
        const std::lock_guard lock(mutex_);
        static_cast<EmulatedQueue&>(queue).add(std::move(launch), nullptr, std::move(over));
    }
    /// Runs everything that was launched.
    void finish() {
        const std::lock_guard lock(mutex_);
        std::vector<int64_t> until;
        for (const auto& queue : queues_) until.push_back(queue->launches());
        run(until);
    }

private:
    struct Item {
        Launch launch;
        int queue;
        int64_t number;              // Position in its queue.
        std::vector<int64_t> after;  // Number of launches of each queue that come before it.
        std::vector<int64_t> blocks;
        std::shared_ptr<const void> memory;  // Memory that the item keeps alive.
        std::function<bool()> over;  // Returns true when the other devices that take part are done;
                                     // null if there are none.
    };

    class EmulatedQueue : public Queue {
    public:
        EmulatedQueue(EmulatedDevice& device, int number)
            : Queue(device.memories_), device_(device), number_(number) {}
        void launch(Launch launch) override {
            stumble();
            const std::lock_guard lock(device_.mutex_);
            add(std::move(launch), nullptr);
        }
        Event record() override {
            stumble();
            const std::lock_guard lock(device_.mutex_);
            if (waited_)
                add({"wait", {}, 0, nullptr}, nullptr);  // The event must include the
                                                         // wait.
            return {number_, launches_};
        }
        void wait(Event event, const char* why) override {
            stumble();
            const std::lock_guard lock(device_.mutex_);
            if (device_.forgets(why)) return;
            waited_ = true;
            raise(after_, event.queue, event.launches);
            for (const Item& item : device_.pending_) {
                if (item.queue != event.queue || item.number >= event.launches) continue;
                for (size_t q = 0; q < item.after.size(); ++q) {
                    raise(after_, static_cast<int>(q), item.after[q]);
                }
            }
        }
        void set_host_wait(HostWait host_wait) override {
            const std::lock_guard lock(device_.mutex_);
            host_wait_ = std::move(host_wait);
        }
        void finish(Event event, const char* why) override {
            HostWait host_wait;
            {
                const std::lock_guard lock(device_.mutex_);
                if (device_.forgets(why) || device_.run_until(event)) return;
                host_wait = host_wait_;
            }
            const auto passed = [&] { return device_.advance(event); };
            if (host_wait)
                return host_wait(std::string("work on the device (") + why + ")", passed);
            while (!passed()) std::this_thread::yield();
        }
        void keep(std::shared_ptr<const void> memory) override {
            const std::lock_guard lock(device_.mutex_);
            add({"keep", {}, 0, nullptr}, std::move(memory));
        }
        const void* device_copy(const std::shared_ptr<const void>& owner, const void* data,
                                int64_t bytes) override {
            stumble();
            const std::lock_guard lock(device_.mutex_);
            Copy& copy = device_.placed_[data];
            if (copy.owner) return copy.bytes.data();
            copy.owner = owner;
            const char* const from = static_cast<const char*>(data);
            copy.bytes.assign(from, from + bytes);
            ++device_.copies_;
            return copy.bytes.data();
        }
        int64_t launches() const { return launches_; }
        void add(Launch launch, std::shared_ptr<const void> memory,
                 std::function<bool()> over = nullptr) {
            raise(after_, number_, launches_);
            waited_ = false;
            device_.add({std::move(launch),
                         number_,
                         launches_++,
                         after_,
                         {},
                         std::move(memory),
                         std::move(over)});
        }

    private:
        EmulatedDevice& device_;
        HostWait host_wait_;
        int number_;
        int64_t launches_ = 0;
        std::vector<int64_t> after_;
        bool waited_ = false;  // True if there was a wait since the last launch.
    };

    struct Copy {
        std::shared_ptr<const void> owner;
        std::vector<char> bytes;
    };

    static void raise(std::vector<int64_t>& launches, int queue, int64_t to) {
        const auto q = static_cast<size_t>(queue);
        if (launches.size() <= q) launches.resize(q + 1);
        launches[q] = std::max(launches[q], to);
    }
    static bool before(const Item& a, const Item& b) {
        const auto q = static_cast<size_t>(a.queue);
        return q < b.after.size() && b.after[q] > a.number;
    }
    static std::string text(const Item& item) {
        return item.launch.name + " (queue " + std::to_string(item.queue) + ", launch " +
               std::to_string(item.number) + ")";
    }
    void report(const Item& item, const Access& of_item, const std::string& other,
                const Access& of_other) {
        if (!of_item.writes && !of_other.writes) return;
        if (!overlap(of_item, of_other)) return;
        report(text(item) + " and " + other);
    }
    void report(const std::string& conflict) {
        if (conflicts_.empty() || conflicts_.back() != conflict) conflicts_.push_back(conflict);
    }
    void expect_seen(const Item& item, const char* problem) {
        const auto seen = [this](const Access& access) { return seen_->holds(access); };
        const std::vector<Access>& all = item.launch.accesses;
        if (seen_ && !std::all_of(all.begin(), all.end(), seen)) report(text(item) + problem);
    }

    bool forgets(const std::string& why) {
        reasons_.insert(why);
        return waits_++ == forgotten_ || why == left_out_;
    }

    // All pending items have not run, so only events can order the new item after them.
    void add(Item item) {
        if (pending_.empty()) drop_copies();
        expect_seen(item, " accesses memory that the device cannot see");
        for (const Item& earlier : pending_) {
            if (before(earlier, item)) continue;
            for (const Access& a : earlier.launch.accesses) {
                for (const Access& b : item.launch.accesses) report(earlier, a, text(item), b);
            }
        }
        for (int64_t k = 0; k < item.launch.blocks; ++k) item.blocks.push_back(k);
        pending_.push_back(std::move(item));
        if (pace_ == Pace::random && random_.below(4) == 0) run(some());
    }

    bool ran(Event event) const {
        return std::none_of(pending_.begin(), pending_.end(), [&](const Item& item) {
            return item.queue == event.queue && item.number < event.launches;
        });
    }
    bool run_until(Event event) {
        std::vector<int64_t> until;
        if (pace_ == Pace::random) until = some();
        raise(until, event.queue, event.launches);
        run(until);
        return ran(event);
    }
    /// Returns a random number of launches for each queue.
    std::vector<int64_t> some() {
        std::vector<int64_t> until;
        for (const auto& queue : queues_) {
            until.push_back(
                static_cast<int64_t>(random_.below(static_cast<uint64_t>(queue->launches() + 1))));
        }
        return until;
    }

    /// Runs the given numbers of launches of each queue, and those that they come after, as far as
    /// other devices do their part.
    void run(std::vector<int64_t> until) {
        until.resize(queues_.size());
        std::vector<Item*> waiting, running, held_up;
        for (auto item = pending_.rbegin(); item != pending_.rend(); ++item) {
            if (item->number >= until[static_cast<size_t>(item->queue)]) continue;
            for (size_t q = 0; q < item->after.size(); ++q) {
                raise(until, static_cast<int>(q), item->after[q]);
            }
            waiting.push_back(&*item);
        }
        begin(waiting, running, held_up);
        while (!running.empty()) {
            Item*& chosen = running[random_.below(running.size())];
            Item& item = *chosen;
            if (!item.blocks.empty()) {
                stumble();
                std::swap(item.blocks[random_.below(item.blocks.size())], item.blocks.back());
                item.launch.run(item.blocks.back(), random_.below(UINT64_MAX));
                item.blocks.pop_back();
            }
            if (!item.blocks.empty()) continue;
            chosen = running.back();
            running.pop_back();
            if (item.over && !item.over()) {
                held_up.push_back(&item);
                continue;
            }
            pending_.remove_if([&](const Item& other) { return &other == &item; });
            begin(waiting, running, held_up);
        }
        if (pending_.empty()) drop_copies();
    }
    /// Moves the items that no pending item precedes from `waiting` to `running`.
    void begin(std::vector<Item*>& waiting, std::vector<Item*>& running,
               const std::vector<Item*>& held_up) {
        std::vector<Item*> held, begun;
        for (Item* item : waiting) {
            const auto holds = [&](const Item* other) { return before(*other, *item); };
            const auto held_by = [&](const std::vector<Item*>& others) {
                return std::any_of(others.begin(), others.end(), holds);
            };
            const bool must_wait = held_by(waiting) || held_by(running) || held_by(held_up);
            (must_wait ? held : begun).push_back(item);
        }
        for (const Item* item : begun) expect_seen(*item, " runs after its memory was freed");
        waiting = std::move(held);
        running.insert(running.end(), begun.begin(), begun.end());
    }
    /// Drops the copies that no launch can request again. A copy is overwritten, so that a later
    /// launch whose array was not kept alive by its owner reads wrong values.
    void drop_copies() {
        constexpr char kNothing = -1;
        std::map<const void*, int64_t> places;  // Number of copies of each owner.
        for (const auto& [data, copy] : placed_) ++places[copy.owner.get()];
        for (auto entry = placed_.begin(); entry != placed_.end();) {
            Copy& copy = entry->second;
            const auto here = places.find(copy.owner.get());
            if (copy.owner.use_count() > here->second) {
                ++entry;
                continue;
            }
            --here->second;
            std::fill(copy.bytes.begin(), copy.bytes.end(), kNothing);
            entry = placed_.erase(entry);
        }
    }

    std::mutex mutex_;
    base::Random random_;
    int64_t forgotten_, waits_ = 0, copies_ = 0;
    Pace pace_;
    const SeenMemory* seen_ = nullptr;
    Memories memories_;
    std::string left_out_;
    std::set<std::string> reasons_;
    std::vector<std::string> conflicts_;
    std::vector<std::unique_ptr<EmulatedQueue>> queues_;
    std::list<Item> pending_;
    std::map<const void*, Copy> placed_;
};

}  // namespace dbench::arena
