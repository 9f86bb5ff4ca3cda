#pragma once
// The queue of a step when one part of the step may run concurrently with the rest.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "arena/device/queue.hpp"

namespace dbench::arena {

/// A queue that forwards all calls to one of two queues of the same device: its own queue, or a
/// side queue while a SideQueueScope lives. Callers that launch on it need not know which one is
/// active.
class StepQueue final : public Queue {
public:
    /// Both queues must outlive this object.
    StepQueue(Queue& own, Queue& side) : Queue(own.memories()), own_(own), side_(side) {}

    /// The side queue. The caller must itself order the side queue after the launches that it
    /// depends on.
    Queue& side() { return side_; }

    /// While this object lives, all launches go to the side queue. Its destructor orders later
    /// launches after both queues.
    class SideQueueScope {
    public:
        explicit SideQueueScope(StepQueue& queue) : queue_(queue) { queue_.now_ = &queue_.side_; }
        ~SideQueueScope() noexcept(false);
        SideQueueScope(const SideQueueScope&) = delete;
        SideQueueScope& operator=(const SideQueueScope&) = delete;

    private:
        StepQueue& queue_;
        const int failures_ = std::uncaught_exceptions();
    };

    bool emulated() const override { return own_.emulated(); }
    void make_current() override { own_.make_current(); }
    void set_host_wait(HostWait host_wait) override {
        own_.set_host_wait(host_wait);
        side_.set_host_wait(std::move(host_wait));
    }
    void launch(Launch launch) override { now().launch(std::move(launch)); }
    Event record() override { return now().record(); }
    std::shared_ptr<const Timestamp> timestamp() override { return now().timestamp(); }
    void wait(Event event, const char* why) override { now().wait(event, why); }
    void finish(Event event, const char* why) override { now().finish(event, why); }
    void keep(std::shared_ptr<const void> memory) override { now().keep(std::move(memory)); }
    const void* device_copy(const std::shared_ptr<const void>& owner, const void* data,
                            int64_t bytes) override {
        return now().device_copy(owner, data, bytes);
    }

private:
    Queue& now() const { return *now_; }

    Queue& own_;
    Queue& side_;
    std::atomic<Queue*> now_ = &own_;
};

}  // namespace dbench::arena
