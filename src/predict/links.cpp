#include "predict/links.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace dbench::predict {

Links::Links(const Network& network, const Rounds& rounds, const SumFacts& sums, uint64_t seed)
    : network_(network), rounds_(rounds), sums_(sums), peers_(network, rounds, sums) {
    const auto hosts = static_cast<size_t>(network.hosts());
    for (uint64_t h = 0; h < hosts; ++h) {
        streams_.emplace_back(seed, base::Purpose::link_time, std::initializer_list<uint64_t>{h});
    }
    slowdown_.resize(hosts);
    up_.resize(hosts);
    down_.resize(hosts);
    inside_.resize(network.host.size());
    flow_.resize(network.host.size());
}

void Links::advance(int64_t t) {
    peers_.advance(t);
    for (size_t h = 0; h < slowdown_.size(); ++h) {
        slowdown_[h] = network_.slowdown.of(peers_.count(h)).at(streams_[h].uniform());
        if (peers_.changed(h)) slowdown_[h] *= network_.slowdown.after_change;
    }
    const RoundPlan* plan = &rounds_.at(t);
    if (plan == std::exchange(plan_, plan)) return;
    groups_.clear();
    for (const std::vector<int>& ranks : plan->groups) groups_.push_back({&ranks, {ranks, sums_}});
}

void Links::send(int from, double bytes, double time, std::span<double> arrived) {
    const size_t here = host(from), sender = static_cast<size_t>(from);
    const auto& messages = plan_->out[sender];
    double& up = up_[here];
    const double first = std::max(up, time), slower = slowdown_[here];
    double remote_rows = 0, largest = 0;
    for (const auto& [to, rows] : messages) {
        if (host(to) == here) continue;
        remote_rows += rows;
        largest = std::max<double>(largest, rows);
    }
    double& flow = flow_[sender];
    if (remote_rows > 0) {
        up = first + remote_rows * bytes * slower / network_.uplink;
        flow = std::max(flow, time) + largest * bytes * slower / network_.remote.bandwidth;
    }
    for (const auto& [to, rows] : messages) {
        const size_t there = host(to);
        double& arrival = arrived[static_cast<size_t>(to)];
        if (here != there) {
            double& down = down_[there];
            down = std::max(down, first + network_.remote.latency) +
                   rows * bytes * slower / network_.uplink;
            const double left = std::max(up, flow);
            arrival = std::max({arrival, down, left + network_.remote.latency});
        } else if (network_.in_place) {
            arrival = std::max(arrival, time + network_.local.latency);
        } else {
            double& busy = inside_[sender];
            busy = std::max(busy, time) + rows * bytes / network_.local.bandwidth;
            arrival = std::max(arrival, busy + network_.local.latency);
        }
    }
}

// If there are two hosts, the slower one counts. More hosts divide their rows among all links and
// wait for each other: the slowdown of one holds for all.
void Links::all_reduce(size_t group, double bytes, std::span<const double> ready,
                       std::span<double> arrived) {
    const auto& [ranks, sum] = groups_[group];
    const bool apart = sum.apart();
    const Link& link = apart ? network_.remote : network_.local;
    double slower = 1;
    if (apart) {
        const std::map<int, int>& hosts = sum.members();
        slower = slowdown_[static_cast<size_t>(hosts.begin()->first)];
        if (hosts.size() == 2)
            slower = std::max(slower, slowdown_[static_cast<size_t>(hosts.rbegin()->first)]);
    }

    double begin = 0;
    for (const int rank : *ranks) begin = std::max(begin, ready[static_cast<size_t>(rank)]);
    double end = begin;
    if (apart) {
        for (const auto& [host, count] : sum.members()) {
            const double seconds = sum.rows_of_host(host) * bytes * slower / network_.uplink;
            const auto h = static_cast<size_t>(host);
            for (double* busy : {&up_[h], &down_[h]}) {
                *busy = std::max(*busy, begin) + seconds;
                end = std::max(end, *busy);
            }
        }
    }
    // The messages of one rank are not faster than a link alone.
    if (apart || !network_.in_place) {
        for (const int rank : *ranks) {
            double& busy = (apart ? flow_ : inside_)[static_cast<size_t>(rank)];
            const double rows = sum.rows_of_rank(network_.host[static_cast<size_t>(rank)]);
            busy = std::max(busy, begin) + rows * bytes * slower / link.bandwidth;
            end = std::max(end, busy);
        }
    }
    for (const int rank : *ranks) {
        arrived[static_cast<size_t>(rank)] = end + sum.messages_in_turn() * link.latency;
    }
}

double Links::slowdown(int rank) const { return slowdown_[host(rank)]; }

size_t Links::host(int rank) const {
    return static_cast<size_t>(network_.host[static_cast<size_t>(rank)]);
}

}  // namespace dbench::predict
