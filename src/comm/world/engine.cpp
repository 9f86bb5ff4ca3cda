#include "comm/world/engine.hpp"

#include <pthread.h>

#include <ctime>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/keep_until_exit.hpp"
#include "comm/wait.hpp"

namespace dbench::comm {
Engine::Engine(bool with_thread, arena::Queue& queue) : queue_(&queue) {
    if (with_thread) thread_ = std::thread([this] { run(); });
}

Engine::~Engine() { halt(); }

void Engine::halt() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    for (auto& operation : std::exchange(operations_, {})) keep_until_exit(std::move(operation));
}

void Engine::compute_on(arena::Queue& queue) {
    const std::lock_guard lock(mutex_);
    queue_ = &queue;
    device_selected_ = false;
}

void Engine::start(std::shared_ptr<OperationInFlight> operation, FirstAdvance first) {
    if (first == FirstAdvance::caller && step(*operation)) {
        if (operation->error_) keep_until_exit(std::move(operation));
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        operations_.push_back(std::move(operation));
        if (waiting_ > 0) return;
    }
    changed_.notify_all();
}

void Engine::keep_until_exit(std::shared_ptr<OperationInFlight> failed) {
    // A transport may still write into its memory.
    base::keep_until_exit(std::move(failed));
}

void Engine::check_halted() {
    const std::lock_guard lock(mutex_);
    if (stop_) throw base::RunError("the exchange was halted after an earlier failure");
}

std::vector<std::shared_ptr<OperationInFlight>> Engine::in_flight() {
    const std::lock_guard lock(mutex_);
    return operations_;
}

bool Engine::test(OperationInFlight& operation) {
    if (!operation.done()) {
        step(operation);  // it may not be in the list
        step_all();
    }
    if (!operation.done()) return false;
    if (operation.error_) std::rethrow_exception(operation.error_);
    return true;
}

std::vector<int> Engine::awaited_ranks(OperationInFlight& operation) {
    const std::lock_guard lock(operation.mutex_);
    return operation.awaited_ranks();
}

void Engine::rethrow_failure() {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
}

std::vector<int> Engine::awaited_ranks() {
    std::set<int> ranks;
    for (const auto& operation : in_flight()) {
        const std::vector<int> more = awaited_ranks(*operation);
        ranks.insert(more.begin(), more.end());
    }
    return {ranks.begin(), ranks.end()};
}

bool Engine::step(OperationInFlight& operation) {
    const std::unique_lock lock(operation.mutex_, std::try_to_lock);
    if (!lock || operation.done()) return false;
    bool done = true;
    try {
        done = operation.advance();
    } catch (...) {
        operation.error_ = std::current_exception();
        const std::lock_guard of_all(mutex_);
        if (!error_) error_ = operation.error_;
    }
    if (done && operation.trace && !operation.error_) operation.trace->done();
    if (done) operation.done_.store(true, std::memory_order_release);
    return done;
}

bool Engine::step_all() {
    bool finished = false, done = false;
    for (const auto& operation : in_flight()) {
        finished |= step(*operation);
        done |= operation->done();  // perhaps by a step of another thread, or outside the list
    }
    if (!done) return false;
    std::vector<std::shared_ptr<OperationInFlight>> failed;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& operation : operations_) {
            if (operation->done() && operation->error_) failed.push_back(operation);
        }
        std::erase_if(operations_, [](const auto& operation) { return operation->done(); });
    }
    for (auto& operation : failed) keep_until_exit(std::move(operation));
    return finished;
}

double Engine::thread_seconds() {
    clockid_t clock;
    timespec time{};
    if (!thread_.joinable() || pthread_getcpuclockid(thread_.native_handle(), &clock) != 0)
        return 0;
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void Engine::run() {
    shorten_sleeps();
    Backoff backoff;
    std::unique_lock lock(mutex_);
    while (!stop_) {
        if (operations_.empty() || waiting_ > 0) {
            changed_.wait(lock);
            backoff.reset();
            continue;
        }
        select_device();
        lock.unlock();
        const base::Stopwatch watch;
        if (step_all() || watch.seconds() > kBusyPoll) backoff.reset();
        backoff.pause();
        lock.lock();
    }
}

/// Requires the mutex, so that the queue cannot be replaced meanwhile.
void Engine::select_device() {
    if (std::exchange(device_selected_, true)) return;
    try {
        queue_->make_current();
    } catch (...) {
        if (!error_) error_ = std::current_exception();
    }
}

Engine::Waiting::Waiting(Engine& engine) : engine_(engine) {
    const std::lock_guard lock(engine_.mutex_);
    ++engine_.waiting_;
}

Engine::Waiting::~Waiting() {
    {
        const std::lock_guard lock(engine_.mutex_);
        --engine_.waiting_;
    }
    engine_.changed_.notify_all();
}

}  // namespace dbench::comm
