#pragma once
// Threads that share out the samples of a batch.

#include <cstdint>
#include <functional>
#include <memory>

namespace dbench::data {

class Team {
public:
    /// `threads`: 1 or more, of which one is who calls `each`.
    explicit Team(int64_t threads);
    ~Team();

    /// Does work(0), ..., work(count - 1), in any order and several at once. What is thrown ends
    /// it: of several exceptions, that of the least number is thrown on.
    void each(int64_t count, const std::function<void(int64_t)>& work);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;  ///< null for one thread
};

}  // namespace dbench::data
