#include "program/link_costs.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "comm/world/link_speed.hpp"
#include "program/prepare_run.hpp"
#include "program/rank_values.hpp"

namespace dbench::program {

namespace {

constexpr int kMostRanksOfAllPairs = 64;  // for measurements of every pair of ranks
constexpr int64_t kFewestExchanges = 10, kMostExchanges = 2000;
constexpr int kMostPeers = 2;  // hosts that a host sends to at the same time
// Exchanges that measure uplinks: bytes that each host sends, seconds, and bounds of their number.
constexpr int64_t kUplinkBytes = int64_t{32} << 20, kFewestOfUplinks = 3, kMostOfUplinks = 50;
constexpr double kUplinkSeconds = 1;

// Returns whether every rank r and rank r + `shift`, modulo the number of ranks, are on different
// hosts.
bool always_between_hosts(const std::vector<std::string>& hosts, int shift) {
    for (size_t rank = 0; rank < hosts.size(); ++rank) {
        if (hosts[rank] == hosts[(rank + static_cast<size_t>(shift)) % hosts.size()]) return false;
    }
    return true;
}

// Returns the largest number of hosts, up to kMostPeers, to which every host can send at the same
// time, if ranks send to ranks whose numbers differ by multiples of `shift`. 0 if hosts have
// different numbers of ranks, so that some have no partner.
int most_peers(const std::vector<std::string>& hosts, int shift) {
    const int others = static_cast<int>(hosts.size()) / shift - 1;
    int most = 0;
    while (most < std::min(others, kMostPeers) && always_between_hosts(hosts, (most + 1) * shift)) {
        ++most;
    }
    return most;
}

// Returns the first rank after 0 on rank 0's host (`same_host`) or on another host; -1 if there is
// none.
int partner(const std::vector<std::string>& hosts, bool same_host) {
    for (size_t rank = 1; rank < hosts.size(); ++rank) {
        if ((hosts[rank] == hosts[0]) == same_host) return static_cast<int>(rank);
    }
    return -1;
}

// Median over the pairs of ranks on the same host, or on different ones.
double median_of_pairs(const graphs::Links& links, const std::vector<double>& values,
                       const std::vector<std::string>& hosts, bool same_host) {
    std::vector<double> chosen;
    for (int from = 0; from < links.slots; ++from) {
        for (int to = 0; to < links.slots; ++to) {
            const bool same = hosts[static_cast<size_t>(from)] == hosts[static_cast<size_t>(to)];
            if (from != to && same == same_host) chosen.push_back(values[links.at(from, to)]);
        }
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen.empty() ? 0 : chosen[chosen.size() / 2];
}

// Returns the bytes per second that each host sends and receives while all its ranks do so; the
// best of some exchanges, in which the slowest rank counts. Every rank r and rank r + `shift` must
// be on different hosts of `shift` ranks. Collective; only rank 0 returns the result, others 0.
double measure_uplink(comm::World& world, int shift) {
    const int64_t bytes = kUplinkBytes / shift;
    std::vector<char> out, in;
    run_on_all_ranks(world,
                     [&] {
                         out.resize(static_cast<size_t>(bytes));
                         in.resize(static_cast<size_t>(bytes));
                     },
                     {.bytes = 2 * bytes});
    const std::vector<double> all = gather_values(
        world, comm::measure_exchanges(
                   world, out, in, {{shift}, kUplinkSeconds, kFewestOfUplinks, kMostOfUplinks}));
    if (all.empty()) return 0;
    const size_t count = all.size() / static_cast<size_t>(world.size());
    double best = 1e9;
    for (size_t k = 0; k < count; ++k) {
        double slowest = 0;
        for (size_t at = k; at < all.size(); at += count) slowest = std::max(slowest, all[at]);
        best = std::min(best, slowest);
    }
    return static_cast<double>(bytes * shift) / best;
}

}  // namespace

void measure_link_costs(comm::World& world, predict::Calibration& c) {
    const std::vector<std::string> hosts = world.all_gather(world.host());
    c.hosts = hosts;
    if (world.size() == 1) return;
    if (world.rank() == 0) base::notice("measuring links");
    std::optional<graphs::Links> pairs;
    if (world.size() <= kMostRanksOfAllPairs) {
        pairs = comm::measure_links(world);
    } else {
        c.assumptions.push_back("Latencies were not measured, because there are more than " +
                                std::to_string(kMostRanksOfAllPairs) + " ranks.");
    }
    const auto measure = [&](bool same_host, predict::Link& link, double& one_way) {
        const int other = partner(hosts, same_host);
        if (other < 0) return false;
        const comm::LinkSpeed speed = comm::measure_link(world, 0, other);
        one_way = speed.one_way;
        link.bandwidth = std::min(speed.one_way, speed.both_ways / 2);
        link.latency = same_host ? 2e-6 : 50e-6;
        if (pairs && world.rank() == 0) {
            link.latency = median_of_pairs(*pairs, pairs->latency, hosts, same_host);
        }
        return true;
    };
    c.has_local = measure(true, c.local, c.local_one_way);
    c.has_remote = measure(false, c.remote, c.remote_one_way);
    if (!c.has_remote) return;
    c.uplink = c.remote.bandwidth;
    const int shift = c.ranks_per_host();
    if (shift > 1 && always_between_hosts(hosts, shift)) {
        c.uplink = std::max(c.uplink, measure_uplink(world, shift));
        return;
    }
    c.assumptions.push_back(
        std::string("The uplink of a host is not faster than one link, because ") +
        (shift == 1 ? "the calibration had one rank per host."
                    : "not every rank of the calibration had a partner on another host."));
}

void measure_link_variation(comm::World& world, double row_bytes, double seconds,
                            predict::Calibration& c) {
    const int shift = c.ranks_per_host();
    const int most = most_peers(c.hosts, shift);
    if (most == 0) return;
    if (world.rank() == 0) base::notice("measuring how links vary");
    const auto bytes = most * static_cast<int64_t>(row_bytes);
    std::vector<char> out, in;
    run_on_all_ranks(world,
                     [&] {
                         out.resize(static_cast<size_t>(bytes));
                         in.resize(static_cast<size_t>(bytes));
                     },
                     {.bytes = 2 * bytes});
    for (int peers = 1; peers <= most; ++peers) {
        comm::Exchanges exchanges{{}, seconds / most, kFewestExchanges, kMostExchanges};
        for (int k = 1; k <= peers; ++k) exchanges.shifts.push_back(k * shift);
        const auto part = static_cast<size_t>(bytes / most * peers);
        const std::vector<double> all = gather_values(
            world,
            comm::measure_exchanges(world, {out.data(), part}, {in.data(), part}, exchanges));
        if (world.rank() != 0) continue;
        predict::Exchange& found = peers == 1 ? c.exchange : c.exchanges_with_several[peers];
        found = {row_bytes * shift * peers, predict::Distribution::of_samples(all)};
    }
}

}  // namespace dbench::program
