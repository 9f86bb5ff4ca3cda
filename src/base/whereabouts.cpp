#include "base/whereabouts.hpp"

#include <atomic>

namespace dbench::base {
namespace {

std::atomic<int64_t> noted_iteration{Whereabouts{}.iteration};
std::atomic<const char*> noted_phase{Whereabouts{}.phase};
static_assert(std::atomic<int64_t>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

}  // namespace

void note_preparation() noexcept {
    note_iteration(Whereabouts{}.iteration);
    note_phase(Whereabouts{}.phase);
}
void note_iteration(int64_t t) noexcept { noted_iteration.store(t, std::memory_order_relaxed); }
void note_phase(const char* phase) noexcept { noted_phase.store(phase, std::memory_order_relaxed); }

Whereabouts whereabouts() noexcept {
    return {noted_iteration.load(std::memory_order_relaxed),
            noted_phase.load(std::memory_order_relaxed)};
}

}  // namespace dbench::base
