#include "base/run_position.hpp"

#include <atomic>

namespace dbench::base {
namespace {

std::atomic<int64_t> noted_iteration{RunPosition{}.iteration};
std::atomic<const char*> noted_phase{RunPosition{}.phase};
static_assert(std::atomic<int64_t>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

}  // namespace

void note_preparation() noexcept {
    note_iteration(RunPosition{}.iteration);
    note_phase(RunPosition{}.phase);
}
void note_iteration(int64_t t) noexcept { noted_iteration.store(t, std::memory_order_relaxed); }
void note_phase(const char* phase) noexcept { noted_phase.store(phase, std::memory_order_relaxed); }

RunPosition run_position() noexcept {
    return {noted_iteration.load(std::memory_order_relaxed),
            noted_phase.load(std::memory_order_relaxed)};
}

}  // namespace dbench::base
