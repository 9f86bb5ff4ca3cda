#include "predict/fit_links.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "graphs/schedule.hpp"
#include "predict/rounds.hpp"
#include "predict/simulator.hpp"

namespace dbench::predict {
namespace {

constexpr int64_t kIterations = 200;
constexpr uint64_t kSeed = 1;

// Returns the iterations of a calibration in which each rank sends a row to the ranks that are
// `shifts` further.
Rounds shifted(int ranks, const std::vector<int>& shifts) {
    RoundPlan plan;
    plan.averages = true;
    plan.out.resize(static_cast<size_t>(ranks));
    plan.rows_read.assign(static_cast<size_t>(ranks), static_cast<int>(shifts.size()));
    plan.group_size.assign(static_cast<size_t>(ranks), 0);
    for (int r = 0; r < ranks; ++r) {
        for (const int shift : shifts) {
            plan.out[static_cast<size_t>(r)].emplace_back((r + shift) % ranks, 1);
        }
    }
    return {{plan}, {0}};
}

// Returns the iterations of a calibration on a graph.
Rounds rounds_on(const char* graph, const Calibration& c) {
    const auto ranks = static_cast<int>(c.hosts.size());
    const auto replicas = static_cast<int>(c.replicas_per_rank * ranks);
    return plan_rounds(*graphs::make_graph(graph, {replicas, kSeed}), {replicas, ranks},
                       kIterations);
}

// Returns the links and hosts of a calibration.
Network network_of(const Calibration& c) {
    Network network;
    for (const std::string& name : c.hosts) {  // the number of a host is that of its first rank
        const auto first = std::find(c.hosts.begin(), c.hosts.end(), name) - c.hosts.begin();
        network.host.push_back(static_cast<int>(first));
    }
    network.local = c.local;
    network.remote = c.remote;
    network.in_place = c.in_place;
    network.uplink = c.uplink;
    return network;
}

// Returns the work of the iterations in which the costs of an order were measured.
Work work_of(const OrderCosts& costs, const Calibration& c) {
    Work work;
    work.compute = costs.compute;
    work.sent_in_compute = costs.sent;
    work.row_costs = costs.row_costs;
    work.buckets = c.buckets;
    work.tiles = tiles_of(c.row_bytes());
    work.rows_per_rank = c.replicas_per_rank;
    return work;
}

// Returns the exchanges' times over those that the links of the calibration say, if a rank sends at
// most one row to each other host.
Distribution relative(const Exchange& exchange, const Calibration& c) {
    const double expected =
        c.remote.latency + std::max(exchange.bytes / c.uplink, c.row_bytes() / c.remote.bandwidth);
    return exchange.seconds.scaled(1 / expected);
}

// Returns the factor between `least` and `most` for which `simulated` gives the measured seconds.
// It must grow with the factor, and at most in proportion.
double fitted(double measured, double least, double most,
              const std::function<double(double)>& simulated) {
    constexpr int kTries = 6;
    constexpr double kClose = 1e-3;  // relative; far below what is known about links
    double factor = 1;
    for (int k = 0; k < kTries; ++k) {
        const double before =
            std::exchange(factor, std::clamp(factor * measured / simulated(factor), least, most));
        if (std::abs(factor - before) <= kClose * before) break;
    }
    return factor;
}

// Returns the slowdown of exchanges in which hosts send to `peers` other hosts, on `rounds`.
Distribution fit_exchange(const Exchange& exchange, int peers, const Work& work, Network network,
                          const Rounds& rounds, Order order, const Calibration& c) {
    const Distribution shape = relative(exchange, c);
    const double factor = fitted(exchange.seconds.mean(), 0.25, 1, [&](double factor) {
        network.slowdown.by_peers[peers] = shape.scaled(factor);
        return simulate(work, network, rounds, order, kIterations, kSeed).mean();
    });
    return shape.scaled(factor);
}

// Returns the slowdown of exchanges that send nothing but rows, to `peers` other hosts.
Distribution fit_alone(const Exchange& exchange, int peers, const Network& network,
                       const Calibration& c) {
    std::vector<int> shifts;
    for (int k = 1; k <= peers; ++k) shifts.push_back(k * c.ranks_per_host());
    Work work;
    work.compute = Distribution(0.0);
    work.buckets = {{c.row_bytes(), 1.0}};
    return fit_exchange(exchange, peers, work, network,
                        shifted(static_cast<int>(c.hosts.size()), shifts),
                        Order::adapt_then_combine, c);
}

// Returns the slowdown of an order with several peers, from its slowdown with one peer. The time
// that an exchange takes beyond that of its bytes is as long as with one peer, while there are
// `peers` times as many bytes. All of it grows as the measured medians do while nothing is
// computed.
Distribution with_several(const Distribution& one_peer, int peers, const Exchange& exchange,
                          const Calibration& c) {
    const double longer = relative(exchange, c).at(0.5) / relative(c.exchange, c).at(0.5);
    return one_peer.narrowed(1, 1.0 / peers).scaled(longer);
}

// Returns Slowdown::after_change. The mean counts: an exchange that others delay makes the next one
// shorter.
double fit_change(const OrderCosts& costs, const Slowdown& slowdown, Network network, Order order,
                  const Calibration& c) {
    const Rounds rounds = rounds_on(kChangingGraph, c);
    network.slowdown = slowdown;
    return fitted(costs.changing.seconds.mean(), 1, 4, [&](double factor) {
        network.slowdown.after_change = factor;
        return simulate(work_of(costs, c), network, rounds, order, kIterations, kSeed).mean();
    });
}

}  // namespace

LinkFit fit_slowdowns(const Calibration& c) {
    const Network network = network_of(c);
    LinkFit fit;
    fit.network.by_peers[1] = fit_alone(c.exchange, 1, network, c);
    for (const auto& [peers, exchange] : c.exchanges_with_several) {
        fit.network.by_peers[peers] = fit_alone(exchange, peers, network, c);
    }
    for (const auto& [order, costs] : c.orders) {
        if (costs.exchange.bytes == 0) continue;
        Slowdown& slowdown = fit.orders[order];
        Distribution& one_peer = slowdown.by_peers[1];
        one_peer = fit_exchange(costs.exchange, 1, work_of(costs, c), network,
                                rounds_on(kGraphOfOrders, c), order, c);
        for (const auto& [peers, exchange] : c.exchanges_with_several) {
            slowdown.by_peers[peers] = with_several(one_peer, peers, exchange, c);
        }
        if (costs.changing.bytes > 0) {
            slowdown.after_change = fit_change(costs, slowdown, network, order, c);
        }
    }
    // All-reduces begin during backward, too, and rows of combine_then_adapt after a pause.
    const auto similar = fit.orders.find(Order::adapt_then_combine);
    if (similar == fit.orders.end()) return fit;
    const Slowdown slowdown = similar->second;
    fit.orders[Order::all_reduce] = fit.orders[Order::combine_then_adapt] = slowdown;
    return fit;
}

}  // namespace dbench::predict
