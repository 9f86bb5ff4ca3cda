// Turns a calibration into the work and the network of a plan, for other hosts than those measured.
#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "predict/fit_links.hpp"
#include "predict/prediction.hpp"

namespace dbench::predict {
namespace {

// Links that are assumed if none were measured: 10 Gb/s Ethernet between hosts, and memory inside.
constexpr Link kAssumedRemote{50e-6, 1.25e9}, kAssumedLocal{2e-6, 4e9};

std::string rate_text(const Link& link) {
    char text[80];
    std::snprintf(text, sizeof text, "%.4g MB/s each way and %.3g us", link.bandwidth / 1e6,
                  1e6 * link.latency);
    return text;
}

int most_ranks_of_a_host(const std::vector<int>& hosts) {
    std::map<int, int> ranks;
    int most = 1;
    for (const int host : hosts) most = std::max(most, ++ranks[host]);
    return most;
}

// Factor by which ranks of a host slow each other down if there are more of them than cores.
double crowding(int ranks, int threads, int cores) {
    return std::max(1.0, static_cast<double>(ranks) * threads / std::max(1, cores));
}

bool links_vary(const Calibration& c, const Site& site) {
    return c.has_remote && c.exchange.bytes > 0 && !site.bandwidth;
}

void set_network(const Calibration& c, const Site& site, Network& network,
                 std::vector<std::string>& assumptions) {
    network.host = site.host;
    network.in_place = c.in_place;
    network.local = c.has_local ? c.local : kAssumedLocal;
    const int hosts = network.hosts(), most = most_ranks_of_a_host(site.host);
    if (most > 1 && !c.has_local) {
        assumptions.push_back("The links between ranks of a host were not measured: " +
                              rate_text(network.local) + " are assumed.");
    }
    network.remote = c.has_remote ? c.remote : kAssumedRemote;
    if (site.bandwidth) network.remote.bandwidth = *site.bandwidth;
    if (site.latency) network.remote.latency = *site.latency;
    network.uplink = c.has_remote && !site.bandwidth ? c.uplink : network.remote.bandwidth;
    if (hosts == 1) return;
    if (!links_vary(c, site)) {
        assumptions.push_back(
            "The bandwidth between hosts does not vary: its variation was not measured.");
    }
    const int peers_measured =
        c.exchanges_with_several.empty() ? 1 : c.exchanges_with_several.rbegin()->first;
    if (links_vary(c, site) && hosts - 1 > peers_measured) {
        assumptions.push_back("Messages to more than " + std::to_string(peers_measured) +
                              (peers_measured == 1 ? " host" : " hosts") +
                              " at the same time are slowed down as much as messages to " +
                              std::to_string(peers_measured) +
                              ", because the calibration sent to no more.");
    }
    if (site.bandwidth || site.latency) {
        assumptions.push_back("The links between hosts have " + rate_text(network.remote) +
                              " as the options say.");
    } else if (!c.has_remote) {
        assumptions.push_back("The links between hosts were not measured: " +
                              rate_text(network.remote) + " are assumed.");
    }
    assumptions.push_back(
        "Every host has one uplink that its ranks share, and the switch between hosts is never "
        "full.");
}

}  // namespace

void apply(const Calibration& c, const Site& site, Plan& plan,
           std::vector<std::string>& assumptions) {
    DBENCH_EXPECT(!site.host.empty());
    assumptions.insert(assumptions.end(), c.assumptions.begin(), c.assumptions.end());
    Work& work = plan.work;
    double factor = site.replicas_per_rank / c.replicas_per_rank;
    if (factor != 1) {
        assumptions.push_back(
            "The compute step is proportional to the replicas of a rank, of which the calibration "
            "had another number.");
    }
    const int most = most_ranks_of_a_host(site.host), measured = c.ranks_per_host();
    if (c.subject.device == "cpu") {
        const double crowd = crowding(most, c.subject.threads, c.subject.cores) /
                             crowding(measured, c.subject.threads, c.subject.cores);
        factor *= crowd;
        if (crowd != 1) {
            assumptions.push_back("Ranks divide the " + std::to_string(c.subject.cores) +
                                  " cores of a host evenly.");
        }
    }
    if (most > measured) {
        assumptions.push_back("The calibration had " + std::to_string(measured) +
                              (measured == 1 ? " rank" : " ranks") + " per host, the run has " +
                              std::to_string(most) +
                              ": more ranks are assumed not to slow each other down in memory.");
    }
    work.compute = c.compute.scaled(factor);
    work.buckets = c.buckets;
    const auto scaled = [&](Order order) {
        OrderCosts costs = costs_of(c, order);
        costs.row_costs.update *= factor;
        costs.compute = costs.compute.scaled(factor);
        const double more = site.replicas_per_rank / c.replicas_per_rank;
        costs.sent *= more;
        costs.row_costs.prolongation = costs.row_costs.prolongation.scaled(more);
        return costs;
    };
    work.row_costs = scaled(Order::asynchronous).row_costs;
    for (const Order order : {Order::adapt_then_combine, Order::combine_while_adapt,
                              Order::combine_then_adapt, Order::all_reduce}) {
        plan.orders[order] = scaled(order);
    }
    if (c.orders.empty() && c.subject.device == "cpu") {
        assumptions.emplace_back(
            "The update and the weighted sums cost as much in every order: the calibration did not "
            "measure the orders.");
    } else if (!c.orders.empty() && !c.orders.contains(Order::all_reduce)) {
        assumptions.emplace_back(
            "The arithmetic of an all-reduce takes as long as passes over memory: the calibration "
            "did not measure all-reduces.");
    }
    work.rows_per_rank = site.replicas_per_rank;
    work.tiles = tiles_of(c.row_bytes());
    plan.gpus = c.subject.device != "cpu";
    assumptions.push_back(
        "Compute steps of different ranks and iterations are independent of each other.");
    set_network(c, site, plan.network, assumptions);
    plan.network.slowdown = {};
    plan.slowdowns.clear();
    if (!links_vary(c, site)) return;
    LinkFit fit = fit_slowdowns(c);
    plan.network.slowdown = std::move(fit.network);
    plan.slowdowns = std::move(fit.orders);
}

}  // namespace dbench::predict
