#include "comm/world/long_work.hpp"

#include "base/clock.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm {
namespace {

/// Messages during the time that a wait may take.
constexpr double kMessagesPerDeadline = 4;

}  // namespace

LongWork::LongWork(World& world) : world_(world.impl()), told_(base::now()) {}

void LongWork::progressed() {
    if (world_.size() == 1) return;
    world_.check_failures();
    const double now = base::now();
    if (now - told_ < world_.deadline / kMessagesPerDeadline) return;
    told_ = now;
    world_.control_messages.tell_progress();
}

}  // namespace dbench::comm
