#include "comm/world/common_clock.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "comm/world/world_impl.hpp"

namespace dbench::comm {
namespace {

/// Round trips of a rank: fewer if there are many ranks, because rank 0 answers one after another.
int round_trips(int ranks) { return std::clamp(8192 / ranks, 8, 128); }

Message clock_message(int rank, int tag, double& value) {
    return {rank, tag, &value, sizeof value};
}

}  // namespace

ClockOffset measure_clock_offset(World& world, const std::function<double()>& clock) {
    World::Impl& impl = world.impl();
    const int tag = impl.next_collective(), trips = round_trips(world.size());
    const char* const what = "the comparison of clocks";
    double question = 0, answer = 0;
    if (world.rank() == 0) {
        for (int rank = 1; rank < world.size(); ++rank) {
            const Message in = clock_message(rank, tag, question);
            const Message out = clock_message(rank, tag, answer);
            for (int trip = 0; trip < trips; ++trip) {
                impl.move(what, impl.control(), {}, {&in, 1});
                answer = clock();
                impl.move(what, impl.control(), {&out, 1}, {});
            }
        }
        return {0, 0};
    }
    ClockOffset best{0, std::numeric_limits<double>::infinity()};
    const Message out = clock_message(0, tag, question), in = clock_message(0, tag, answer);
    for (int trip = 0; trip < trips; ++trip) {
        const double before = clock();
        impl.move(what, impl.control(), {&out, 1}, {&in, 1});
        const double after = clock(), uncertainty = (after - before) / 2;
        if (uncertainty < best.uncertainty) best = {answer - (before + uncertainty), uncertainty};
    }
    return best;
}

base::RunClock common_clock(World& world, const base::Stopwatch& run) {
    const ClockOffset offset = measure_clock_offset(world);
    std::vector<double> zero{world.rank() == 0 ? base::now() - run.seconds() : 0};
    world.sum(zero);
    return {offset.seconds, offset.uncertainty, zero[0]};
}

}  // namespace dbench::comm
