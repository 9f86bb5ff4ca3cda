#pragma once
// The queue of a step where a part of it may run beside the rest.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "arena/device/queue.hpp"

namespace dbench::arena {

/// A queue, and another one of the same device that takes its place for a while. Whoever launches
/// on it need not know which it is.
class StepQueue final : public Queue {
public:
    /// Both outlive it.
    StepQueue(Queue& own, Queue& side) : own_(own), side_(side) {}

    /// The one that takes its place: what is to come before, it has to be told itself.
    Queue& side() { return side_; }

    /// While it lives, all goes to the side queue; what is launched later comes after both.
    class Aside {
    public:
        explicit Aside(StepQueue& queue) : queue_(queue) { queue_.now_ = &queue_.side_; }
        ~Aside() noexcept(false);
        Aside(const Aside&) = delete;
        Aside& operator=(const Aside&) = delete;

    private:
        StepQueue& queue_;
        const int failures_ = std::uncaught_exceptions();
    };

    bool emulated() const override { return own_.emulated(); }
    void enter() override { own_.enter(); }
    void wait_by(Patience patience) override {
        own_.wait_by(patience);
        side_.wait_by(std::move(patience));
    }
    void launch(Launch launch) override { now().launch(std::move(launch)); }
    Event record() override { return now().record(); }
    std::shared_ptr<const Moment> moment() override { return now().moment(); }
    void wait(Event event, const char* why) override { now().wait(event, why); }
    void finish(Event event, const char* why) override { now().finish(event, why); }
    void keep(std::shared_ptr<const void> memory) override { now().keep(std::move(memory)); }
    const void* place(const std::shared_ptr<const void>& owner, const void* data,
                      int64_t bytes) override {
        return now().place(owner, data, bytes);
    }

private:
    Queue& now() const { return *now_; }

    Queue& own_;
    Queue& side_;
    std::atomic<Queue*> now_ = &own_;
};

}  // namespace dbench::arena
