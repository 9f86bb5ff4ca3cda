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

namespace dbench::arena {
namespace {

/// The host's wait where nobody has said how: gives way, then sleeps between two looks.
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

/// What a device may still touch lives as long as the process.
void keep_for_good(std::vector<std::shared_ptr<const void>> memory) {
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::shared_ptr<const void>>;
    const std::lock_guard lock(mutex);
    for (auto& each : memory) kept->push_back(std::move(each));
}

size_t hash_of(std::string_view bytes) { return std::hash<std::string_view>()(bytes); }

/// Whether both are the same object's.
bool same_owner(const std::weak_ptr<const void>& a, const std::shared_ptr<const void>& b) {
    return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

class StreamQueue final : public Queue {
public:
    StreamQueue(StreamDevice& device, void* stream, int number)
        : device_(device), streams_(device.streams_), stream_(stream), number_(number) {}
    ~StreamQueue() override {
        try {
            mark();
            wait_until([this] { return look(); }, device_.rest_);
        } catch (const base::RunError&) {  // the device has failed: so has what runs there
        }
        const std::lock_guard lock(device_.mutex_);
        device_.queues_[static_cast<size_t>(number_)] = nullptr;
        for (void* const event : marks_) streams_.destroy_event(event);
        StreamDevice::Kept left;
        for (Keeping& each : kept_) left.push_back(std::move(each.memory));
        keep_for_good(std::move(left));
    }

    bool emulated() const override { return streams_.emulated(); }
    void enter() override { streams_.enter(); }
    void wait_by(Patience patience) override {
        const std::lock_guard lock(device_.mutex_);
        patience_ = std::move(patience);
    }

    void launch(Launch launch) override {
        gave();  // for marks that are made inside
        streams_.launch(stream_, std::move(launch));
        gave();
    }

    Event record() override { return mark(); }

    std::shared_ptr<const Moment> moment() override {
        constexpr double kSame = 10e-6;  // seconds; each costs the host more than one
        const std::lock_guard lock(device_.mutex_);
        const double now = base::now();
        if (moved_.exchange(false) || !moment_ || now - moment_at_ > kSame) {
            moment_ = streams_.moment(stream_);
            moment_at_ = now;
            given_ = true;  // is part of the next mark
        }
        return moment_;
    }

    void wait(Event event, const char*) override {
        const std::lock_guard lock(device_.mutex_);
        wait_for(event);
    }

    void finish(Event event, const char* why) override {
        const auto done = [&] {
            look();
            const std::lock_guard lock(device_.mutex_);
            return device_.passed(event);
        };
        if (done()) return;
        Patience patience;
        {
            const std::lock_guard lock(device_.mutex_);
            patience = patience_;
        }
        if (!patience) return wait_until(done);
        patience(std::string("work on the device (") + why + ")", done);
    }

    void keep(std::shared_ptr<const void> memory) override {
        if (!memory) return;
        const Event event = mark();
        {
            const std::lock_guard lock(device_.mutex_);
            kept_.push_back({event.launches, std::move(memory)});
        }
        look();
    }

    const void* place(const std::shared_ptr<const void>& owner, const void* data,
                      int64_t bytes) override {
        const std::string_view text(static_cast<const char*>(data), static_cast<size_t>(bytes));
        const std::lock_guard lock(device_.mutex_);
        StreamDevice::Copy* copy = device_.known(owner, text);
        if (!copy) {
            copy = device_.alike(text);
            if (!copy) copy = make_copy(text);
            device_.own(*copy, owner, text);
        }
        copy->used = true;
        wait_for(copy->made);
        return copy->memory;
    }

    // The rest with the device's mutex held.

    bool has_passed(int64_t mark) {
        while (!marks_.empty() && streams_.passed(marks_.front())) {
            device_.events_.push_back(marks_.front());
            marks_.pop_front();
        }
        return mark <= made_ - std::ssize(marks_);
    }
    Event mark_locked() {
        // Asked first: what another thread launches meanwhile may need a mark of its own.
        if (given_.exchange(false)) {
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
    struct Keeping {
        int64_t until;  // mark
        std::shared_ptr<const void> memory;
    };

    StreamDevice::Copy* make_copy(std::string_view bytes) {
        if (device_.copies_.size() >= device_.look_at_) device_.retire_unowned();
        device_.free_retired();
        // From bytes that stay: some devices read what is not pinned after the call has returned.
        StreamDevice::Copy& copy =
            device_.copies_.emplace(hash_of(bytes), StreamDevice::Copy{std::string(bytes)})->second;
        try {
            copy.memory = streams_.copy(copy.bytes.data(), std::ssize(bytes), stream_);
        } catch (...) {
            device_.forget(copy);
            throw;
        }
        ++device_.copies_made_;
        gave();
        copy.made = mark_locked();
        return &copy;
    }

    Event mark() {
        const std::lock_guard lock(device_.mutex_);
        return mark_locked();
    }

    /// What is kept goes as soon as it may; whether nothing is under way.
    bool look() {
        StreamDevice::Kept free;  // goes without the mutex: it may be anything
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
        gave();  // it is part of the next mark
    }

    void gave() { given_ = moved_ = true; }

    StreamDevice& device_;
    Streams& streams_;
    void* const stream_;
    const int number_;
    std::atomic<bool> given_ = false;  // something, since the last mark
    std::atomic<bool> moved_ = false;  // something, since the last moment
    std::shared_ptr<const Moment> moment_;
    double moment_at_ = 0;     // by the host's clock
    std::deque<void*> marks_;  // the last ones, which have not passed
    int64_t made_ = 0;         // marks in all
    std::deque<Keeping> kept_;
    Patience patience_;
};

bool StreamDevice::Copy::owned() {
    std::erase_if(owners, [](const auto& owner) { return owner.expired(); });
    return !owners.empty();
}

void StreamDevice::Copy::own(const std::shared_ptr<const void>& owner) {
    const auto is_it = [&](const auto& known) { return same_owner(known, owner); };
    if (std::any_of(owners.begin(), owners.end(), is_it)) return;
    owned();  // forgets those that have gone
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

void StreamDevice::capturing(bool now) {
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

StreamDevice::Copy* StreamDevice::known(const std::shared_ptr<const void>& owner,
                                        std::string_view bytes) const {
    const auto entry = known_.find(bytes.data());
    if (entry == known_.end() || entry->second.bytes != bytes.size()) return nullptr;
    return same_owner(entry->second.owner, owner) ? entry->second.copy : nullptr;
}

StreamDevice::Copy* StreamDevice::alike(std::string_view bytes) {
    const auto [begin, end] = copies_.equal_range(hash_of(bytes));
    const auto found =
        std::find_if(begin, end, [&](const auto& entry) { return entry.second.bytes == bytes; });
    return found == end ? nullptr : &found->second;
}

void StreamDevice::forget(const Copy& copy) {
    const auto is_it = [&](const auto& entry) { return &entry.second == &copy; };
    copies_.erase(std::find_if(copies_.begin(), copies_.end(), is_it));
}

void StreamDevice::own(Copy& copy, const std::shared_ptr<const void>& owner,
                       std::string_view bytes) {
    constexpr size_t kLong = 1024;  // what takes longer to look at than to look up
    copy.own(owner);
    if (bytes.size() < kLong) return;
    std::erase_if(known_, [](const auto& entry) { return entry.second.owner.expired(); });
    known_[bytes.data()] = {owner, bytes.size(), &copy};
}

/// Those that nobody owns, nor has asked for since the last time.
void StreamDevice::retire_unowned() {
    if (capturing_) return;  // it marks all queues
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
    look_at_ = copies_.size() + 256;
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
