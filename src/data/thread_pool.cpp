#include "data/thread_pool.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace dbench::data {

struct ThreadPool::Impl {
    std::mutex mutex;
    std::condition_variable begin, end;
    const std::function<void(int64_t)>* work = nullptr;
    int64_t count = 0;
    std::atomic<int64_t> next{0};
    int64_t round = 0;  // Number of calls of parallel_for() so far.
    size_t busy = 0;
    int64_t failed = 0;  // The number whose exception `failure` is.
    std::exception_ptr failure;
    bool stop = false;
    std::vector<std::thread> threads;

    explicit Impl(int64_t helpers) {
        for (int64_t k = 0; k < helpers; ++k) {
            threads.emplace_back([this] { help(); });
        }
    }

    ~Impl() {
        {
            const std::lock_guard lock(mutex);
            stop = true;
        }
        begin.notify_all();
        for (std::thread& thread : threads) thread.join();
    }

    void help() {
        for (int64_t seen = 0;;) {
            {
                std::unique_lock lock(mutex);
                begin.wait(lock, [&] { return stop || round > seen; });
                if (stop) return;
                seen = round;
            }
            take_part();
            const std::lock_guard lock(mutex);
            if (--busy == 0) end.notify_one();
        }
    }

    // Numbers are handed out in increasing order. If one fails, all smaller ones have been handed
    // out already, so the smallest failing number is always found.
    void take_part() {
        for (int64_t k = next++; k < count; k = next++) {
            try {
                (*work)(k);
            } catch (...) {
                const std::lock_guard lock(mutex);
                next = count;
                if (failure && failed < k) continue;
                failed = k;
                failure = std::current_exception();
            }
        }
    }

    void parallel_for(int64_t all, const std::function<void(int64_t)>& what) {
        {
            const std::lock_guard lock(mutex);
            work = &what;
            count = all;
            next = 0;
            busy = threads.size();
            ++round;
        }
        begin.notify_all();
        take_part();
        std::unique_lock lock(mutex);
        end.wait(lock, [this] { return busy == 0; });
        if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
    }
};

ThreadPool::ThreadPool(int64_t threads) {
    DBENCH_EXPECT(threads >= 1);
    if (threads > 1) impl_ = std::make_unique<Impl>(threads - 1);
}

ThreadPool::~ThreadPool() = default;

void ThreadPool::parallel_for(int64_t count, const std::function<void(int64_t)>& work) {
    if (impl_) return impl_->parallel_for(count, work);
    for (int64_t k = 0; k < count; ++k) work(k);
}

}  // namespace dbench::data
