#include "predict/rounds.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "comm/plans/cost.hpp"

namespace dbench::predict {
namespace {

RoundPlan plan_round(const graphs::Schedule& schedule, graphs::Round round,
                     const comm::Placement& placement) {
    RoundPlan plan;
    const comm::RoundCost cost = comm::round_cost(schedule, round);
    plan.rows_sent = cost.rows;
    plan.averages = cost.averages;
    plan.out.resize(static_cast<size_t>(placement.ranks));
    plan.rows_read.resize(static_cast<size_t>(placement.ranks));
    plan.group_size.resize(static_cast<size_t>(placement.ranks));
    if (!cost.averages) return plan;
    std::vector<bool> grouped(static_cast<size_t>(placement.replicas));
    for (const auto& group : schedule.groups(round)) {
        std::set<int> members;
        for (const int i : group) {
            grouped[static_cast<size_t>(i)] = true;
            members.insert(placement.rank_of(i));
        }
        if (members.size() < 2) continue;
        plan.groups.emplace_back(members.begin(), members.end());
        for (const int rank : members) {
            plan.group_size[static_cast<size_t>(rank)] = static_cast<int>(members.size());
        }
    }
    for (int rank = 0; rank < placement.ranks; ++rank) {
        std::map<int, int> rows;
        std::set<int> read;
        for (int64_t i = placement.begin(rank); i < placement.begin(rank + 1); ++i) {
            if (grouped[static_cast<size_t>(i)]) continue;
            const int replica = static_cast<int>(i);
            std::set<int> to;
            for (const graphs::Link& link : schedule.out(round, replica)) {
                to.insert(placement.rank_of(link.peer));
            }
            to.erase(rank);
            for (const int other : to) ++rows[other];
            for (const graphs::Link& link : schedule.in(round, replica)) {
                if (link.peer != replica) read.insert(link.peer);
            }
        }
        plan.out[static_cast<size_t>(rank)].assign(rows.begin(), rows.end());
        plan.rows_read[static_cast<size_t>(rank)] = static_cast<int>(read.size());
    }
    return plan;
}

}  // namespace

double RoundPlan::rows_in_messages(int rank, const std::vector<int>& host, bool in_place) const {
    const auto at = static_cast<size_t>(rank);
    double rows = 0;
    for (const auto& [to, count] : out[at]) {
        if (!in_place || host[static_cast<size_t>(to)] != host[at]) rows += count;
    }
    const double members = group_size[at];
    const bool one_host =
        std::all_of(host.begin(), host.end(), [&](int each) { return each == host[at]; });
    if (members > 1 && !(in_place && one_host)) rows += 2 * (members - 1) / members;
    return rows;
}

double Rounds::mean_rows_sent() const {
    double sum = 0;
    for (const size_t index : plan_of) sum += plans[index].rows_sent;
    return sum / static_cast<double>(plan_of.size());
}

int64_t Rounds::most_messages() const {
    int64_t most = 0;
    for (const RoundPlan& plan : plans) {
        int64_t messages = static_cast<int64_t>(plan.out.size());
        for (const auto& each : plan.out) messages += static_cast<int64_t>(each.size());
        most = std::max(most, messages);
    }
    return most;
}

Rounds plan_rounds(const graphs::Schedule& schedule, const comm::Placement& placement,
                   int64_t iterations) {
    Rounds rounds;
    std::map<uint64_t, size_t> known;
    const int64_t period = schedule.period();
    const int64_t count = period > 0 ? std::min(period, iterations) : iterations;
    for (int64_t t = 0; t < count; ++t) {
        const graphs::Round round = schedule.at(t);
        const auto [place, first] = known.emplace(round.matrix, rounds.plans.size());
        if (first) rounds.plans.push_back(plan_round(schedule, round, placement));
        rounds.plan_of.push_back(place->second);
    }
    return rounds;
}

Rounds plan_all_reduce(const comm::Placement& placement) {
    Rounds rounds;
    RoundPlan plan;
    plan.out.resize(static_cast<size_t>(placement.ranks));
    plan.rows_read.resize(static_cast<size_t>(placement.ranks));
    plan.group_size.resize(static_cast<size_t>(placement.ranks));
    plan.rows_sent = comm::all_reduce_cost(placement.replicas).rows;
    plan.averages = placement.replicas > 1;
    if (placement.ranks > 1) {
        std::vector<int> all(static_cast<size_t>(placement.ranks));
        std::iota(all.begin(), all.end(), 0);
        plan.groups.push_back(std::move(all));
        plan.group_size.assign(plan.group_size.size(), placement.ranks);
    }
    rounds.plans.push_back(std::move(plan));
    rounds.plan_of.push_back(0);
    return rounds;
}

}  // namespace dbench::predict
