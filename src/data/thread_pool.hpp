#pragma once
// Threads that share the samples of a batch.

#include <cstdint>
#include <functional>
#include <memory>

namespace dbench::data {

/// A fixed set of threads for parallel loops. One thread at a time may call `parallel_for`.
class ThreadPool {
public:
    /// `threads` is at least 1 and includes the thread that calls `parallel_for`.
    explicit ThreadPool(int64_t threads);
    ~ThreadPool();

    /// Calls work(0), ..., work(count - 1), in any order and concurrently. An exception stops the
    /// remaining calls; if several were thrown, the one of the smallest number is rethrown.
    void parallel_for(int64_t count, const std::function<void(int64_t)>& work);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;  ///< Null for one thread.
};

}  // namespace dbench::data
