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
    if (pairs && world.rank() == 0) {
        // All ranks of a host were measured at the same time.
        const double each = median_of_pairs(*pairs, pairs->bandwidth, hosts, false);
        c.uplink = std::max(c.uplink, each * c.ranks_per_host());
    }
    if (c.ranks_per_host() == 1) {
        c.assumptions.push_back(
            "The uplink of a host is not faster than one link, because the calibration had one "
            "rank per host.");
    }
}

void measure_link_variation(comm::World& world, double row_bytes, double seconds,
                            predict::Calibration& c) {
    const int shift = c.ranks_per_host();
    const auto ranks = static_cast<int>(c.hosts.size());
    for (int rank = 0; rank < ranks; ++rank) {
        const auto from = static_cast<size_t>(rank),
                   to = static_cast<size_t>((rank + shift) % ranks);
        if (c.hosts[from] == c.hosts[to]) return;  // hosts with different numbers of ranks
    }
    if (world.rank() == 0) base::notice("measuring how links vary");
    const auto bytes = static_cast<int64_t>(row_bytes);
    std::vector<char> out, in;
    run_on_all_ranks(world,
                     [&] {
                         out.resize(static_cast<size_t>(bytes));
                         in.resize(static_cast<size_t>(bytes));
                     },
                     {.bytes = 2 * bytes});
    const std::vector<double> all = gather_values(
        world, comm::measure_exchanges(world, out, in,
                                       {shift, seconds, kFewestExchanges, kMostExchanges}));
    if (world.rank() == 0) {
        c.exchange = {row_bytes * shift, predict::Distribution::of_samples(all)};
    }
}

}  // namespace dbench::program
