#include "arena/device/streams.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/keep_until_exit.hpp"

namespace dbench::arena {
namespace {

/// Waits on the host if no HostWait was set: yields first, then sleeps between two polls.
void wait_until(const std::function<bool()>& done, double seconds = -1) {
    constexpr double kYield = 20e-6;
    const base::Stopwatch watch;
    while (!done()) {
        if (watch.seconds() < kYield) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        if (seconds >= 0 && watch.seconds() > seconds) return;
    }
}

size_t hash_of(std::string_view bytes) { return std::hash<std::string_view>()(bytes); }

/// Returns true if both refer to the same object.
bool same_owner(const std::weak_ptr<const void>& a, const std::shared_ptr<const void>& b) {
    return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

/// A queue over one stream of a StreamDevice.
class StreamQueue final : public Queue {
public:
    StreamQueue(StreamDevice& device, void* stream, int number)
        : Queue(device.memories_),
          device_(device),
          streams_(device.streams_),
          stream_(stream),
          number_(number) {}
    ~StreamQueue() override {
        try {
            mark();
            wait_until([this] { return release_passed(); }, device_.rest_);
        } catch (const base::RunError&) {  // The device has failed, and so have the launches on it.
        }
        const std::lock_guard lock(device_.mutex_);
        device_.queues_[static_cast<size_t>(number_)] = nullptr;
        for (void* const event : marks_) streams_.destroy_event(event);
        for (KeptMemory& each : kept_) base::keep_until_exit(std::move(each.memory));
    }

    bool emulated() const override { return streams_.emulated(); }
    void make_current() override { streams_.make_current(); }
    void set_host_wait(HostWait host_wait) override {
        const std::lock_guard lock(device_.mutex_);
        host_wait_ = std::move(host_wait);
    }

    void launch(Launch launch) override {
        note_operation();  // Another thread may make a mark during the launch.
        streams_.launch(stream_, std::move(launch));
        note_operation();
    }

    Event record() override { return mark(); }

    std::shared_ptr<const Timestamp> timestamp() override {
        constexpr double kSame = 10e-6;  // Seconds within which timestamps are shared: each costs
                                         // the host more than one microsecond.
        const std::lock_guard lock(device_.mutex_);
        const double now = base::now();
        if (has_untimed_work_.exchange(false) || !timestamp_ || now - timestamp_made_at_ > kSame) {
            timestamp_ = streams_.timestamp(stream_);
            timestamp_made_at_ = now;
            has_unmarked_work_ = true;  // The next mark must be after the timestamp.
        }
        return timestamp_;
    }

    void wait(Event event, const char*) override {
        const std::lock_guard lock(device_.mutex_);
        wait_for(event);
    }

    void finish(Event event, const char* why) override {
        const auto done = [&] {
            release_passed();
            const std::lock_guard lock(device_.mutex_);
            return device_.passed(event);
        };
        if (done()) return;
        HostWait host_wait;
        {
            const std::lock_guard lock(device_.mutex_);
            host_wait = host_wait_;
        }
        if (!host_wait) return wait_until(done);
        host_wait(std::string("work on the device (") + why + ")", done);
    }

    void keep(std::shared_ptr<const void> memory) override {
        if (!memory) return;
        const Event event = mark();
        {
            const std::lock_guard lock(device_.mutex_);
            kept_.push_back({event.launches, std::move(memory)});
        }
        release_passed();
    }

    const void* device_copy(const std::shared_ptr<const void>& owner, const void* data,
                            int64_t bytes) override {
        const std::string_view text(static_cast<const char*>(data), static_cast<size_t>(bytes));
        const std::lock_guard lock(device_.mutex_);
        StreamDevice::Copy* copy = device_.find_by_address(owner, text);
        if (!copy) {
            copy = device_.find_by_contents(text);
            if (!copy) copy = make_copy(text);
            device_.add_owner(*copy, owner, text);
        }
        copy->used = true;
        wait_for(copy->made);
        return copy->memory;
    }

    // The caller must hold the device's mutex in the remaining public functions.

    bool has_passed(int64_t mark) {
        while (!marks_.empty() && streams_.passed(marks_.front())) {
            device_.events_.push_back(marks_.front());
            marks_.pop_front();
        }
        return mark <= made_ - std::ssize(marks_);
    }
    Event mark_locked() {
        // The flag is cleared first: a concurrent launch of another thread may need another mark.
        if (has_unmarked_work_.exchange(false)) {
            void* const event = device_.take_event();
            streams_.record(event, stream_);
            marks_.push_back(event);
            ++made_;
            has_passed(made_);
        }
        return {number_, made_};
    }
    void* event_of(int64_t mark) const {
        return marks_[static_cast<size_t>(mark - (made_ - std::ssize(marks_)) - 1)];
    }

private:
    struct KeptMemory {
        int64_t until;  // The mark.
        std::shared_ptr<const void> memory;
    };

    StreamDevice::Copy* make_copy(std::string_view bytes) {
        if (device_.copies_.size() >= device_.retire_threshold_) device_.retire_unowned();
        device_.free_retired();
        // The copy reads from stored bytes: some devices read memory that is not pinned after the
        // call returns.
        StreamDevice::Copy& copy =
            device_.copies_.emplace(hash_of(bytes), StreamDevice::Copy{std::string(bytes)})->second;
        try {
            copy.memory = streams_.copy(copy.bytes.data(), std::ssize(bytes), stream_);
        } catch (...) {
            device_.forget(copy);
            throw;
        }
        ++device_.copies_made_;
        note_operation();
        copy.made = mark_locked();
        return &copy;
    }

    Event mark() {
        const std::lock_guard lock(device_.mutex_);
        return mark_locked();
    }

    /// Frees kept memory whose launches have finished. Returns true if no launch is pending.
    bool release_passed() {
        StreamDevice::Kept free;  // Declared before the lock: destructors of kept objects must run
                                  // without the mutex.
        const std::lock_guard lock(device_.mutex_);
        const bool idle = has_passed(made_);
        while (!kept_.empty() && has_passed(kept_.front().until)) {
            free.push_back(std::move(kept_.front().memory));
            kept_.pop_front();
        }
        return idle;
    }

    void wait_for(Event event) {
        StreamQueue* const other = device_.find(event.queue);
        if (!other || other == this || other->has_passed(event.launches)) return;
        streams_.wait(stream_, other->event_of(event.launches));
        note_operation();  // The next mark must include the wait.
    }

    void note_operation() { has_unmarked_work_ = has_untimed_work_ = true; }

    StreamDevice& device_;
    Streams& streams_;
    void* const stream_;
    const int number_;
    std::atomic<bool> has_unmarked_work_ =
        false;  // True if anything was enqueued since the last mark.
    std::atomic<bool> has_untimed_work_ =
        false;  // True if anything was enqueued since the last timestamp.
    std::shared_ptr<const Timestamp> timestamp_;
    double timestamp_made_at_ = 0;  // Time by the host's clock.
    std::deque<void*> marks_;       // The latest marks, which have not passed.
    int64_t made_ = 0;              // Total number of marks.
    std::deque<KeptMemory> kept_;
    HostWait host_wait_;
};

bool StreamDevice::Copy::owned() {
    std::erase_if(owners, [](const auto& owner) { return owner.expired(); });
    return !owners.empty();
}

void StreamDevice::Copy::add_owner(const std::shared_ptr<const void>& owner) {
    const auto is_it = [&](const auto& known) { return same_owner(known, owner); };
    if (std::any_of(owners.begin(), owners.end(), is_it)) return;
    owned();  // Removes owners that have been destroyed.
    owners.push_back(owner);
}

StreamDevice::~StreamDevice() {
    for (auto& [hash, copy] : copies_) streams_.free_copy(copy.memory);
    for (const Retired& copy : retired_) streams_.free_copy(copy.memory);
    for (void* const event : events_) streams_.destroy_event(event);
}

std::unique_ptr<Queue> StreamDevice::queue_on(void* stream) {
    const std::lock_guard lock(mutex_);
    auto queue = std::make_unique<StreamQueue>(*this, stream, static_cast<int>(queues_.size()));
    queues_.push_back(queue.get());
    return queue;
}

void StreamDevice::set_capturing(bool now) {
    const std::lock_guard lock(mutex_);
    capturing_ = now;
}

int64_t StreamDevice::events() const {
    const std::lock_guard lock(mutex_);
    return events_made_;
}

int64_t StreamDevice::copies() const {
    const std::lock_guard lock(mutex_);
    return copies_made_;
}

void* StreamDevice::take_event() {
    if (events_.empty()) {
        events_.push_back(streams_.make_event());
        ++events_made_;
    }
    void* const event = events_.back();
    events_.pop_back();
    return event;
}

StreamQueue* StreamDevice::find(int queue) const { return queues_[static_cast<size_t>(queue)]; }

bool StreamDevice::passed(Event event) {
    StreamQueue* const queue = find(event.queue);
    return !queue || queue->has_passed(event.launches);
}

StreamDevice::Copy* StreamDevice::find_by_address(const std::shared_ptr<const void>& owner,
                                                  std::string_view bytes) const {
    const auto entry = by_address_.find(bytes.data());
    if (entry == by_address_.end() || entry->second.bytes != bytes.size()) return nullptr;
    return same_owner(entry->second.owner, owner) ? entry->second.copy : nullptr;
}

StreamDevice::Copy* StreamDevice::find_by_contents(std::string_view bytes) {
    const auto [begin, end] = copies_.equal_range(hash_of(bytes));
    const auto found =
        std::find_if(begin, end, [&](const auto& entry) { return entry.second.bytes == bytes; });
    return found == end ? nullptr : &found->second;
}

void StreamDevice::forget(const Copy& copy) {
    const auto is_it = [&](const auto& entry) { return &entry.second == &copy; };
    copies_.erase(std::find_if(copies_.begin(), copies_.end(), is_it));
}

void StreamDevice::add_owner(Copy& copy, const std::shared_ptr<const void>& owner,
                             std::string_view bytes) {
    constexpr size_t kLong = 1024;  // Arrays of at least this many bytes are found faster by
                                    // address than by contents.
    copy.add_owner(owner);
    if (bytes.size() < kLong) return;
    std::erase_if(by_address_, [](const auto& entry) { return entry.second.owner.expired(); });
    by_address_[bytes.data()] = {owner, bytes.size(), &copy};
}

/// Retires the copies that have no owner and were not requested since the last call.
void StreamDevice::retire_unowned() {
    if (capturing_) return;  // This function would mark all queues.
    std::vector<Event> now;
    for (StreamQueue* const queue : queues_) {
        if (queue) now.push_back(queue->mark_locked());
    }
    for (auto entry = copies_.begin(); entry != copies_.end();) {
        Copy& copy = entry->second;
        const bool stays = copy.owned() || std::exchange(copy.used, false);
        if (!stays) retired_.push_back({copy.memory, now});
        entry = stays ? std::next(entry) : copies_.erase(entry);
    }
    retire_threshold_ = copies_.size() + 256;
}

void StreamDevice::free_retired() {
    std::erase_if(retired_, [this](const Retired& copy) {
        const auto has = [this](Event event) { return passed(event); };
        if (!std::all_of(copy.after.begin(), copy.after.end(), has)) return false;
        streams_.free_copy(copy.memory);
        return true;
    });
}

}  // namespace dbench::arena
