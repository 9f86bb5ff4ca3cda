#pragma once
// Random delays for tests with several threads. A thread sleeps or yields at random where it meets
// other threads, so that more interleavings occur.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "base/random.hpp"

namespace dbench::arena {

/// Sometimes delays this thread if the environment variable DBENCH_DEVICE_STUMBLES is set; else
/// does nothing.
inline void stumble() {
    static const bool stumbles = std::getenv("DBENCH_DEVICE_STUMBLES") != nullptr;
    if (!stumbles) return;
    const auto seed = static_cast<uint64_t>(
        std::chrono::steady_clock::now().time_since_epoch().count() ^
        static_cast<int64_t>(std::hash<std::thread::id>()(std::this_thread::get_id())));
    static thread_local base::Random random(seed, base::Purpose::graph);
    constexpr uint64_t kMicroseconds = 150;
    const uint64_t lot = random.below(8);
    if (lot == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(kMicroseconds)));
    } else if (lot < 3) {
        std::this_thread::yield();
    }
}

}  // namespace dbench::arena
