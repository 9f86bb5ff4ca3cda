#pragma once
// Queues over a device's streams: what launches, events and copies become there. What is asked of
// the device itself is an interface: CUDA's in cuda/device.cu, an emulation in the tests.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arena/device/queue.hpp"

namespace dbench::arena {

/// Streams run what they are given in its order, beside each other; an event is a point of one.
/// Calls may come from any thread, and none waits for the device. Throws RunError where it fails.
class Streams {
public:
    virtual ~Streams() = default;
    virtual bool emulated() const { return false; }  ///< as Queue::emulated
    virtual void enter() {}                          ///< as Queue::enter
    virtual void launch(void* stream, Launch launch) = 0;

    virtual void* make_event() = 0;
    virtual void destroy_event(void* event) = 0;
    /// The event, wherever it was, is now after all that the stream has been given.
    virtual void record(void* event, void* stream) = 0;
    virtual bool passed(void* event) = 0;
    /// When the stream has done all that it has been given.
    virtual std::shared_ptr<const Moment> moment(void* stream) = 0;
    /// What the stream is given from now on begins after the event as it is now.
    virtual void wait(void* stream, void* event) = 0;

    /// A copy of the bytes in the device's memory, for what the stream is given from now on. The
    /// original stays until that has been made.
    virtual void* copy(const void* data, int64_t bytes, void* stream) = 0;
    virtual void free_copy(void* memory) = 0;  ///< that nothing reads any more
};

class StreamQueue;

/// The queues of one device, and the copies that they have in common.
///
/// An event of a queue (`Event`) counts its marks. A mark is an event of the device, made only
/// where something was launched since the one before, and used again once it has passed: as many
/// are in use as the host is ahead of the device.
///
/// Copies are found by what they hold, so that plans which are made anew in each step, but say the
/// same, are copied once; long ones first by where they are.
class StreamDevice {
public:
    /// Both outlive all queues. `rest` is how long, in seconds, a queue that goes waits for what is
    /// still under way; memory that is then still needed stays for good.
    explicit StreamDevice(Streams& streams, double rest = 5) : streams_(streams), rest_(rest) {}
    ~StreamDevice();
    StreamDevice(const StreamDevice&) = delete;
    StreamDevice& operator=(const StreamDevice&) = delete;

    /// Over a stream that outlives it.
    std::unique_ptr<Queue> queue_on(void* stream);

    /// Whether one of the queues is being captured: an event that another thread recorded there
    /// would be part of that.
    void capturing(bool now);

    int64_t events() const;  ///< made so far
    int64_t copies() const;  ///< made so far

private:
    friend class StreamQueue;
    using Kept = std::vector<std::shared_ptr<const void>>;

    /// A copy, and for whom it is kept.
    struct Copy {
        std::string bytes;
        void* memory = nullptr;
        Event made = {};
        std::vector<std::weak_ptr<const void>> owners = {};
        bool used = true;  ///< since the last look
        bool owned();
        void own(const std::shared_ptr<const void>& owner);
    };
    /// A long array that was copied: found where it is, for as long as its owner lives.
    struct Known {
        std::weak_ptr<const void> owner;
        size_t bytes;
        Copy* copy;
    };
    /// One that nobody can ask for any more, until these marks have passed.
    struct Retired {
        void* memory;
        std::vector<Event> after;
    };

    // All of these with the mutex held.
    void* take_event();
    StreamQueue* find(int queue) const;
    Copy* known(const std::shared_ptr<const void>& owner, std::string_view bytes) const;
    Copy* alike(std::string_view bytes);
    void forget(const Copy& copy);
    void own(Copy& copy, const std::shared_ptr<const void>& owner, std::string_view bytes);
    bool passed(Event event);
    void retire_unowned();
    void free_retired();

    Streams& streams_;
    const double rest_;
    mutable std::mutex mutex_;
    std::vector<StreamQueue*> queues_;  // by number; null for those that have gone
    std::vector<void*> events_;         // that can be used again
    int64_t events_made_ = 0, copies_made_ = 0;
    std::unordered_multimap<size_t, Copy> copies_;  // by hash
    std::unordered_map<const void*, Known> known_;
    bool capturing_ = false;
    size_t look_at_ = 256;  // so many copies: which are still owned?
    std::vector<Retired> retired_;
};

}  // namespace dbench::arena
