#include "graphs/placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/random.hpp"

namespace dbench::graphs {
namespace {

constexpr int64_t kPlacementSample = 64;

struct Flow {
    int from;
    int to;
    double models;
};

// A round's point-to-point flows, and its all-reduce groups, whose flows depend on the placement.
struct RoundFlows {
    std::vector<Flow> flows;
    std::vector<std::vector<int>> groups;
};

std::vector<RoundFlows> flows_of(const Schedule& schedule) {
    const int64_t period = schedule.period();
    const int64_t length = period > 0 && period <= 4096 ? period : kPlacementSample;
    std::vector<RoundFlows> all;
    for (int64_t t = 0; t < length; ++t) {
        const Round round = schedule.at(t);
        RoundFlows& one = all.emplace_back();
        one.groups = schedule.groups(round);
        std::vector<bool> grouped(schedule.size(), false);
        for (const auto& group : one.groups) {
            for (const int i : group) grouped[i] = true;
        }
        for (int i = 0; i < schedule.size(); ++i) {
            if (grouped[i]) continue;
            for (const Link& link : schedule.out(round, i)) {
                if (link.peer != i) one.flows.push_back({i, link.peer, 1.0});
            }
        }
    }
    return all;
}

std::vector<Flow> ring_of(std::vector<int> group, const Slots& placement) {
    std::sort(group.begin(), group.end(),
              [&](int a, int b) { return placement[a] < placement[b]; });
    const auto m = static_cast<double>(group.size());
    std::vector<Flow> flows;
    for (size_t k = 0; k < group.size(); ++k) {
        flows.push_back({group[k], group[(k + 1) % group.size()], 2 * (m - 1) / m});
    }
    return flows;
}

Traffic measure(const std::vector<RoundFlows>& rounds, int gpus, const Slots& placement) {
    Traffic result;
    double sent = 0;
    double crossing = 0;
    const size_t nodes = placement.size() / static_cast<size_t>(gpus) + 1;
    for (const RoundFlows& round : rounds) {
        std::vector<double> leaving(nodes, 0.0);
        const auto count = [&](const Flow& flow) {
            const int a = placement[flow.from] / gpus;
            const int b = placement[flow.to] / gpus;
            sent += flow.models;
            if (a == b) return;
            crossing += flow.models;
            leaving[a] += flow.models;
        };
        std::for_each(round.flows.begin(), round.flows.end(), count);
        for (const auto& group : round.groups) {
            const auto ring = ring_of(group, placement);
            std::for_each(ring.begin(), ring.end(), count);
        }
        result.worst_node =
            std::max(result.worst_node, *std::max_element(leaving.begin(), leaving.end()));
    }
    result.share = sent > 0 ? crossing / sent : 0;
    return result;
}

// For the search: models sent between pairs of replicas, both directions together. A group counts
// as if all its pairs shared the traffic of its ring equally.
using Ties = std::vector<std::vector<std::pair<int, double>>>;

Ties ties_of(const std::vector<RoundFlows>& rounds, int n) {
    std::vector<std::map<int, double>> sums(n);
    const auto add = [&](int a, int b, double models) {
        sums[a][b] += models;
        sums[b][a] += models;
    };
    for (const RoundFlows& round : rounds) {
        for (const Flow& flow : round.flows) add(flow.from, flow.to, flow.models);
        for (const auto& group : round.groups) {
            if (static_cast<int>(group.size()) == n) continue;  // costs the same in every placement
            const double share = 2.0 / static_cast<double>(group.size());
            for (const int a : group) {
                for (const int b : group) {
                    if (a < b) add(a, b, share);
                }
            }
        }
    }
    Ties ties(n);
    for (int i = 0; i < n; ++i) ties[i].assign(sums[i].begin(), sums[i].end());
    return ties;
}

// Returns the reduction of traffic if a and b exchange their places.
double gain(const Ties& ties, const Slots& placement, int gpus, int a, int b) {
    const int home_a = placement[a] / gpus;
    const int home_b = placement[b] / gpus;
    const auto pull = [&](int i, int other, int here, int there) {
        double sum = 0;
        for (const auto& [j, models] : ties[i]) {
            if (j == other) continue;
            const int node = placement[j] / gpus;
            sum += node == there ? models : node == here ? -models : 0;
        }
        return sum;
    };
    return pull(a, b, home_a, home_b) + pull(b, a, home_b, home_a);
}

void search(const Ties& ties, int gpus, int sweeps, Slots& placement) {
    const int n = static_cast<int>(placement.size());
    std::vector<int> at(n);  // replica in each slot
    for (int i = 0; i < n; ++i) at[placement[i]] = i;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        bool better = false;
        for (int a = 0; a < n; ++a) {
            // A move of `a` reduces traffic only if the new node holds a peer of `a`.
            std::vector<int> nodes;
            for (const auto& [j, models] : ties[a]) nodes.push_back(placement[j] / gpus);
            std::sort(nodes.begin(), nodes.end());
            nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
            int best = a;
            double most = 1e-9;
            for (const int node : nodes) {
                if (node == placement[a] / gpus) continue;
                for (int slot = node * gpus; slot < std::min(n, (node + 1) * gpus); ++slot) {
                    const double wins = gain(ties, placement, gpus, a, at[slot]);
                    if (wins > most) {
                        most = wins;
                        best = at[slot];
                    }
                }
            }
            if (best == a) continue;
            std::swap(placement[a], placement[best]);
            std::swap(at[placement[a]], at[placement[best]]);
            better = true;
        }
        if (!better) break;
    }
}

}  // namespace

Traffic traffic(const Schedule& schedule, int gpus_per_node, const Slots& placement) {
    return measure(flows_of(schedule), gpus_per_node, placement);
}

Slots linear_placement(int n) {
    Slots placement(n);
    std::iota(placement.begin(), placement.end(), 0);
    return placement;
}

Slots node_major_placement(int n, int gpus_per_node) {
    const int nodes = (n + gpus_per_node - 1) / gpus_per_node;
    Slots placement(n);
    int replica = 0;
    for (int gpu = 0; gpu < gpus_per_node; ++gpu) {
        for (int node = 0; node < nodes; ++node) {
            const int slot = node * gpus_per_node + gpu;
            if (slot < n) placement[replica++] = slot;
        }
    }
    return placement;
}

Slots random_placement(int n, uint64_t seed) {
    base::Random random(seed, base::Purpose::placement);
    const auto order = base::permutation(n, random);
    return {order.begin(), order.end()};
}

Slots optimised_placement(const Schedule& schedule, int gpus_per_node, uint64_t seed, int sweeps) {
    const int n = schedule.size();
    const auto rounds = flows_of(schedule);
    const auto ties = ties_of(rounds, n);
    Slots best = linear_placement(n);
    double least = measure(rounds, gpus_per_node, best).share;
    for (Slots start :
         {linear_placement(n), node_major_placement(n, gpus_per_node), random_placement(n, seed)}) {
        for (const bool searched : {false, true}) {
            if (searched) search(ties, gpus_per_node, sweeps, start);
            const double share = measure(rounds, gpus_per_node, start).share;
            if (share < least - 1e-12) {
                least = share;
                best = start;
            }
        }
    }
    return best;
}

void check_placement_name(const std::string& name) {
    const std::vector<std::string> names = {"linear", "node_major", "random", "optimised"};
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    throw base::UserError("--placement: unknown placement '" + name + "'" +
                          base::suggest_name(name, names));
}

Slots placement_named(const std::string& name, const Schedule& schedule, int gpus_per_node,
                      uint64_t seed) {
    if (name == "linear") return linear_placement(schedule.size());
    if (name == "node_major") return node_major_placement(schedule.size(), gpus_per_node);
    if (name == "random") return random_placement(schedule.size(), seed);
    check_placement_name(name);
    return optimised_placement(schedule, gpus_per_node, seed);
}

}  // namespace dbench::graphs
