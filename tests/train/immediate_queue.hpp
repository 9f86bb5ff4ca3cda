#pragma once
// A queue for tests that check which launches are made, not when they run.

#include <deque>
#include <vector>

#include "arena/device/queue.hpp"

namespace dbench::train {

/// Runs each launch at once.
class ImmediateQueue final : public arena::Queue {
public:
    int64_t launches = 0;

    void launch(arena::Launch launch) override {
        ++launches;
        for (int64_t k = 0; k < launch.blocks; ++k) launch.run(k, 0);
    }
    arena::Event record() override { return {0, launches}; }
    void wait(arena::Event, const char*) override {}
    void finish(arena::Event, const char*) override {}
    void keep(std::shared_ptr<const void>) override {}
    const void* device_copy(const std::shared_ptr<const void>&, const void* data,
                            int64_t bytes) override {
        const char* const from = static_cast<const char*>(data);
        copies_.emplace_back(from, from + bytes);
        return copies_.back().data();
    }

private:
    std::deque<std::vector<char>> copies_;
};

}  // namespace dbench::train
