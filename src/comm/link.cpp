#include "comm/link.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "comm/world_impl.hpp"

namespace dbench::comm {
namespace {

constexpr int64_t kBytes = int64_t{64} << 20, kMessage = int64_t{16} << 20;
constexpr int kTries = 3;

/// Seconds from the start of the messages to the word that they have come.
double seconds(World::Impl& world, int other, bool sends, bool receives) {
    std::vector<char> bulk(kBytes), more(kBytes);
    char word = 0, answer = 0;
    const int tag = world.next_exchange(), reply = world.next_exchange();
    std::vector<Message> out, in;
    for (int64_t first = 0; first < kBytes; first += kMessage) {
        if (sends) out.push_back({other, tag, bulk.data() + first, kMessage});
        if (receives) in.push_back({other, tag, more.data() + first, kMessage});
    }
    const Message told{other, reply, &word, 1}, heard{other, reply, &answer, 1};
    const base::Stopwatch watch;
    world.move("measuring a link", world.rows(), out, in);
    world.move("measuring a link", world.rows(), {&told, 1}, {&heard, 1});
    return watch.seconds();
}

}  // namespace

LinkSpeed measure_link(World& world, int a, int b) {
    World::Impl& impl = world.impl();
    double one = 1e9, both = 1e9;
    for (int t = 0; t < kTries; ++t) {
        world.barrier();
        if (world.rank() != a && world.rank() != b) {
            for (int tags = 0; tags < 4; ++tags) impl.next_exchange();
            continue;
        }
        const int other = world.rank() == a ? b : a;
        one = std::min(one, seconds(impl, other, world.rank() == a, world.rank() == b));
        // Ranks are never in step: where answers wait behind bulk, who is first has the link.
        const double late = world.rank() == b ? one / 20 : 0;
        std::this_thread::sleep_for(std::chrono::duration<double>(late));
        both = std::min(both, late + seconds(impl, other, true, true));
    }
    const bool mine = world.rank() == a;
    std::vector<double> found{mine ? kBytes / one : 0, mine ? 2 * kBytes / both : 0};
    world.sum(found);
    return {found[0], found[1]};
}

}  // namespace dbench::comm
