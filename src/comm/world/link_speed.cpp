#include "comm/world/link_speed.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/framing.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm {
namespace {

/// Bytes of one try, and of one of its messages.
constexpr int64_t kBytes = int64_t{64} << 20, kMessage = int64_t{16} << 20;
constexpr int kTries = 3;

/// Returns the seconds from the start of the messages until the other rank has confirmed their
/// arrival.
double seconds(World::Impl& world, int other, bool sends, bool receives) {
    std::vector<char> bulk(kBytes), more(kBytes);
    char word = 0, answer = 0;
    const int tag = world.next_exchange(), reply = world.next_exchange();
    std::vector<Message> out, in;
    for (int64_t first = 0; first < kBytes; first += kMessage) {
        if (sends) out.push_back({other, tag, bulk.data() + first, kMessage});
        if (receives) in.push_back({other, tag, more.data() + first, kMessage});
    }
    const Message reply_out{other, reply, &word, 1}, reply_in{other, reply, &answer, 1};
    const base::Stopwatch watch;
    world.move("measuring a link", world.rows(), out, in);
    world.move("measuring a link", world.rows(), {&reply_out, 1}, {&reply_in, 1});
    return watch.seconds();
}

/// Share of one direction's time by which the second rank starts late.
constexpr double kLate = 0.05;

/// Returns the seconds of both directions that start together, from those of one direction alone
/// and those until the end of the second direction, which started late. At first and at last one
/// direction moves alone, for kLate * one each. In between each moves 1 - kLate of its bytes.
double together(double one, double until_end) {
    return std::max(one, (until_end - 2 * kLate * one) / (1 - kLate));
}

/// Returns the partner of `rank` in a round of a round-robin tournament among `players`, an even
/// number.
int opponent(int rank, int round, int players) {
    const int last = players - 1;
    // The last rank's partner is the rank i that would be paired with itself: 2 i = round (mod
    // last).
    if (rank == last) {
        return round % 2 == 0 ? round / 2 : (round + last) / 2;
    }
    const int other = ((round - rank) % last + last) % last;
    return other == rank ? last : other;
}

/// Returns the seconds until the answer to `bytes` has arrived, if this rank sends them (`sends`).
double round_trip(World::Impl& world, int other, int tag, std::span<char> bytes, bool sends) {
    char answer = 0;
    const Message bulk{other, tag, bytes.data(), static_cast<int64_t>(bytes.size())};
    const Message word{other, tag, &answer, 1};
    const Message &first = sends ? bulk : word, &second = sends ? word : bulk;
    const base::Stopwatch watch;
    if (sends) {
        world.move("measuring links", world.rows(), {&first, 1}, {});
        world.move("measuring links", world.rows(), {}, {&second, 1});
    } else {
        world.move("measuring links", world.rows(), {}, {&second, 1});
        world.move("measuring links", world.rows(), {&first, 1}, {});
    }
    return watch.seconds();
}

/// Returns the shortest try in which this rank sends. Both ranks send in turn, the lower one first.
double best_trip(World::Impl& world, int other, int tag, std::span<char> bytes, int tries) {
    double best = 1e9;
    for (int t = 0; t < tries; ++t) {
        for (const bool lower : {true, false}) {
            const bool sends = lower == (world.rank() < other);
            const double seconds = round_trip(world, other, tag, bytes, sends);
            if (sends) best = std::min(best, seconds);
        }
    }
    return best;
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
        // Ranks are never exactly in step. If answers queue up after bulk data, the rank that
        // starts first takes the link; a small delay makes this happen in every try.
        const double late = world.rank() == b ? kLate * one : 0;
        std::this_thread::sleep_for(std::chrono::duration<double>(late));
        both = std::min(both, together(one, late + seconds(impl, other, true, true)));
    }
    const bool mine = world.rank() == a;
    std::vector<double> found{mine ? kBytes / one : 0, mine ? 2 * kBytes / both : 0};
    world.sum(found);
    return {found[0], found[1]};
}

SumSpeed measure_sum(World& world) {
    World::Impl& impl = world.impl();
    constexpr auto kCount = static_cast<int64_t>(SumSpeed::bytes / sizeof(float));
    const std::vector<float> row(kCount);
    std::vector<float> sum(kCount);
    double best = 1e9;
    for (int t = 0; t < kTries; ++t) {
        world.barrier();
        const base::Stopwatch watch;
        const auto transfer =
            impl.rows().start_sum(arena::DType::float32, row.data(), sum.data(), kCount);
        impl.wait(
            "measuring a sum", [&] { return transfer->test(); },
            [&] { return transfer->awaited_ranks(); });
        best = std::min(best, watch.seconds());
    }
    std::vector<double> all(static_cast<size_t>(world.size()));
    all[static_cast<size_t>(world.rank())] = best;
    world.sum(all);
    return {*std::max_element(all.begin(), all.end())};
}

std::vector<double> measure_exchanges(World& world, std::span<char> out, std::span<char> in,
                                      const Exchanges& exchanges) {
    World::Impl& impl = world.impl();
    const int ranks = world.size();
    const auto bytes = static_cast<int64_t>(out.size());
    const auto peers = static_cast<int64_t>(exchanges.shifts.size());
    const auto exchange = [&] {
        const int tag = impl.next_exchange();
        std::vector<Message> sent, received;
        for (int64_t k = 0; k < peers; ++k) {
            const int shift = exchanges.shifts[static_cast<size_t>(k)];
            const int to = (world.rank() + shift) % ranks;
            const int from = (world.rank() + ranks - shift) % ranks;
            const int64_t end = (k + 1) * bytes / peers;
            for (int64_t first = k * bytes / peers; first < end; first += kMessage) {
                const int64_t count = std::min(kMessage, end - first);
                sent.push_back({to, tag, out.data() + first, count});
                received.push_back({from, tag, in.data() + first, count});
            }
        }
        const base::Stopwatch watch;
        impl.move("measuring exchanges", impl.rows(), sent, received);
        return watch.seconds();
    };
    std::vector<double> first{exchange()};
    world.sum(first);  // all ranks choose the same number
    const double each = std::max(1e-9, first[0] / ranks);
    const auto count = std::clamp(static_cast<int64_t>(exchanges.seconds / each), exchanges.fewest,
                                  exchanges.most);
    std::vector<double> found;
    for (int64_t k = 0; k < count; ++k) found.push_back(exchange());
    return found;
}

graphs::Links measure_links(World& world) {
    constexpr int64_t kBulk = int64_t{4} << 20;
    constexpr double kShortest = 1e-9;  // no clock resolves less
    World::Impl& impl = world.impl();
    const int ranks = world.size(), players = ranks + ranks % 2;
    std::vector<char> bulk(kBulk);
    std::vector<double> mine(2 * static_cast<size_t>(ranks), 1.0);
    for (int round = 0; round < players - 1; ++round) {
        const int other = opponent(world.rank(), round, players), tag = impl.next_exchange();
        world.barrier();  // all pairs measure at the same time
        if (other >= ranks) continue;
        const double there_and_back = best_trip(impl, other, tag, {bulk.data(), 1}, 20);
        const double whole = best_trip(impl, other, tag, bulk, 3);
        mine[2 * other] = std::max(kShortest, there_and_back / 2);
        // If noise makes one byte as slow as the whole message, attribute half of the time to the
        // bytes.
        const double of_bytes = std::max(whole - there_and_back, whole / 2);
        mine[2 * other + 1] = static_cast<double>(kBulk) / std::max(kShortest, of_bytes);
    }
    const std::vector<std::string> all = world.gather(base::bytes_of(mine));
    graphs::Links links(static_cast<int>(all.size()));
    for (int from = 0; from < links.slots; ++from) {
        mine = base::doubles_of(all[from]);
        for (int to = 0; to < links.slots; ++to) {
            links.latency[links.at(from, to)] = mine[2 * to];
            links.bandwidth[links.at(from, to)] = mine[2 * to + 1];
        }
    }
    return links;
}

}  // namespace dbench::comm
