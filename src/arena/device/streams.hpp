#pragma once
// Queues over the streams of a device: how launches, events and read-only copies become operations
// on streams. The device is an interface: cuda/device.cu implements it for CUDA, the tests emulate
// it.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arena/device/memory.hpp"
#include "arena/device/queue.hpp"

namespace dbench::arena {

/// The operations on a device's streams. A stream runs its operations in order, concurrently with
/// other streams; an event is a point in a stream. Any thread may call the functions, and none
/// waits for the device. They throw RunError if the device fails.
class Streams {
public:
    virtual ~Streams() = default;
    virtual bool emulated() const { return false; }  ///< See Queue::emulated.
    virtual void make_current() {}                   ///< See Queue::make_current.
    virtual void launch(void* stream, Launch launch) = 0;

    virtual void* make_event() = 0;
    virtual void destroy_event(void* event) = 0;
    /// Moves the event to the point after everything that was enqueued on the stream so far.
    virtual void record(void* event, void* stream) = 0;
    /// Returns true if the stream has reached the event.
    virtual bool passed(void* event) = 0;
    /// Returns the timestamp at which the stream has done everything that was enqueued so far.
    virtual std::shared_ptr<const Timestamp> timestamp(void* stream) = 0;
    /// Orders all later operations of the stream after the current point of the event.
    virtual void wait(void* stream, void* event) = 0;

    /// Returns a copy of the bytes in the device's memory, which later operations of the stream can
    /// read. The original must remain valid until the copy has been made.
    virtual void* copy(const void* data, int64_t bytes, void* stream) = 0;
    virtual void free_copy(void* memory) = 0;  ///< Frees a copy that no operation reads any more.
};

class StreamQueue;

/// The queues of one device, and the read-only copies that they share.
///
/// An event of a queue (`Event`) is the number of a mark. A mark is a device event. A new mark is
/// made only if something was launched since the last mark, and its device event is reused once it
/// has passed. The number of device events in use depends only on how far the host is ahead of the
/// device.
///
/// Copies are found by their contents, so that plans which are made anew in each step, but are
/// equal, are copied once. Long arrays are first looked up by address.
class StreamDevice {
public:
    /// `streams` must outlive all queues. `memories` is the device's memory. `rest` is the time in
    /// seconds that the destructor of a queue waits for pending launches; memory that they still
    /// need afterwards is never freed.
    explicit StreamDevice(Streams& streams, Memories memories = {}, double rest = 5)
        : streams_(streams), memories_(std::move(memories)), rest_(rest) {}
    ~StreamDevice();
    StreamDevice(const StreamDevice&) = delete;
    StreamDevice& operator=(const StreamDevice&) = delete;

    /// Returns a queue over a stream, which must outlive the queue.
    std::unique_ptr<Queue> queue_on(void* stream);

    /// Set to true while one of the queues is being captured into a graph. An event that another
    /// thread records on that queue would become part of the graph.
    void set_capturing(bool now);

    int64_t events() const;  ///< Number of device events made so far.
    int64_t copies() const;  ///< Number of read-only copies made so far.

private:
    friend class StreamQueue;
    using Kept = std::vector<std::shared_ptr<const void>>;

    /// A read-only copy with its owners.
    struct Copy {
        std::string bytes;
        void* memory = nullptr;
        Event made = {};
        std::vector<std::weak_ptr<const void>> owners = {};
        bool used = true;  ///< True if it was requested since the last check for unused copies.
        /// Returns true if at least one owner lives.
        bool owned();
        void add_owner(const std::shared_ptr<const void>& owner);
    };
    /// A long array that was copied. It can be found by address while its owner lives.
    struct AddressEntry {
        std::weak_ptr<const void> owner;
        size_t bytes;
        Copy* copy;
    };
    /// A copy that no new launch can get. It is freed when these marks have passed.
    struct Retired {
        void* memory;
        std::vector<Event> after;
    };

    // The caller must hold the mutex in all of these.
    void* take_event();
    StreamQueue* find(int queue) const;
    Copy* find_by_address(const std::shared_ptr<const void>& owner, std::string_view bytes) const;
    Copy* find_by_contents(std::string_view bytes);
    void forget(const Copy& copy);
    void add_owner(Copy& copy, const std::shared_ptr<const void>& owner, std::string_view bytes);
    bool passed(Event event);
    void retire_unowned();
    void free_retired();

    Streams& streams_;
    const Memories memories_;
    const double rest_;
    mutable std::mutex mutex_;
    std::vector<StreamQueue*> queues_;  // Queues by their number; null: destroyed.
    std::vector<void*> events_;         // Device events that can be reused.
    int64_t events_made_ = 0, copies_made_ = 0;
    std::unordered_multimap<size_t, Copy> copies_;  // Copies by the hash of their contents.
    /// Copies of long arrays by the address of the original.
    std::unordered_map<const void*, AddressEntry> by_address_;
    bool capturing_ = false;
    size_t retire_threshold_ = 256;  // Number of copies at which the next one triggers a search for
                                     // copies without owners.
    std::vector<Retired> retired_;
};

}  // namespace dbench::arena
