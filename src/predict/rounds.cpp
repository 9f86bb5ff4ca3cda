#include "predict/rounds.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "comm/plans/cost.hpp"

namespace dbench::predict {
namespace {

constexpr int64_t kLongestPeriod = 100'000;  // iterations

RoundPlan plan_round(const graphs::Schedule& schedule, graphs::Round round,
                     const comm::Placement& placement, Groups kind) {
    RoundPlan plan;
    const bool reduces = kind == Groups::all_reduce;
    const comm::RoundCost cost =
        reduces ? comm::round_cost(schedule, round) : comm::link_cost(schedule, round);
    plan.rows_sent = cost.rows;
    plan.averages = cost.averages;
    plan.out.resize(static_cast<size_t>(placement.ranks));
    plan.rows_read.resize(static_cast<size_t>(placement.ranks));
    plan.group_size.resize(static_cast<size_t>(placement.ranks));
    if (!cost.averages) return plan;
    std::vector<bool> grouped(static_cast<size_t>(placement.replicas));
    const auto groups = reduces ? schedule.groups(round) : std::vector<std::vector<int>>{};
    for (const auto& group : groups) {
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

std::vector<double> RoundPlan::rows_in_messages(const SumFacts& facts) const {
    const std::vector<int>& host = facts.host;
    std::vector<double> rows(out.size());
    for (size_t rank = 0; rank < out.size(); ++rank) {
        for (const auto& [to, count] : out[rank]) {
            if (!facts.in_place || host[static_cast<size_t>(to)] != host[rank]) rows[rank] += count;
        }
    }
    const bool one_host =
        std::all_of(host.begin(), host.end(), [&](int each) { return each == host[0]; });
    if (facts.in_place && one_host) return rows;
    for (const std::vector<int>& group : groups) {
        const AllReduce sum(group, facts);
        for (const int rank : group) {
            const auto at = static_cast<size_t>(rank);
            rows[at] += sum.rows_of_rank(host[at]);
        }
    }
    return rows;
}

double Rounds::mean_rows_sent() const {
    double sum = 0;
    for (const size_t index : plan_of) sum += plans[index].rows_sent;
    return sum / static_cast<double>(plan_of.size());
}

double Rounds::mean_events() const {
    std::vector<double> events;
    for (const RoundPlan& plan : plans) {
        events.push_back(static_cast<double>(plan.out.size()));
        for (const auto& each : plan.out) events.back() += static_cast<double>(each.size());
    }
    double sum = 0;
    for (const size_t index : plan_of) sum += events[index];
    return sum / static_cast<double>(plan_of.size());
}

Rounds plan_rounds(const graphs::Schedule& schedule, const comm::Placement& placement,
                   int64_t iterations, Groups groups) {
    Rounds rounds;
    std::map<uint64_t, size_t> known;
    const int64_t period = schedule.period();
    int64_t count = iterations;
    if (period > 0) count = period <= kLongestPeriod ? period : std::min(period, iterations);
    for (int64_t t = 0; t < count; ++t) {
        const graphs::Round round = schedule.at(t);
        const auto [place, first] = known.emplace(round.matrix, rounds.plans.size());
        // More plans than iterations were requested might exceed the memory.
        if (first && static_cast<int64_t>(rounds.plans.size()) >= iterations) {
            rounds.plan_of.resize(static_cast<size_t>(iterations));
            break;
        }
        if (first) rounds.plans.push_back(plan_round(schedule, round, placement, groups));
        rounds.plan_of.push_back(place->second);
    }
    rounds.whole = static_cast<int64_t>(rounds.plan_of.size()) == period;
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
