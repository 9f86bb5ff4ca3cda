#include "comm/plans/mixing_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace dbench::comm {
namespace {

std::vector<arena::Interval> nodes_of(int64_t members, arena::Interval positions,
                                      Contribution contribution) {
    if (contribution == Contribution::subtrees) return arena::maximal_subtrees(members, positions);
    std::vector<arena::Interval> leaves;
    for (int64_t p = positions.begin; p < positions.end; ++p) leaves.push_back({p, p + 1});
    return leaves;
}

GroupPlan make_group(std::span<const int> members, const Placement& placement, int rank,
                     Contribution contribution) {
    GroupPlan group{static_cast<int64_t>(members.size()), {}, -1, {}};
    for (int64_t position = 0; position < group.members; ++position) {
        const int holder = placement.rank_of(members[position]);
        if (group.parts.empty() || group.parts.back().rank != holder) {
            group.parts.push_back({holder, {position, position}, {}, {}, 0});
        }
        group.parts.back().positions.end = position + 1;
        group.parts.back().rows.push_back(members[position] - placement.begin(holder));
        if (holder == rank) {
            group.me = static_cast<int>(group.parts.size()) - 1;
            group.rows.push_back(members[position] - placement.begin(rank));
        }
    }
    for (GroupPlan::Part& part : group.parts) {
        part.nodes = nodes_of(group.members, part.positions, contribution);
    }
    return group;
}

std::vector<RankRows> as_rank_rows(const std::map<int, std::set<int64_t>>& by_rank) {
    std::vector<RankRows> list;
    for (const auto& [rank, rows] : by_rank) list.push_back({rank, {rows.begin(), rows.end()}});
    return list;
}

// Adds the groups in which a local row is. Returns which local rows are in a group.
std::vector<bool> add_groups(const graphs::Schedule& schedule, graphs::Round round,
                             const Placement& placement, int rank, Contribution contribution,
                             MixingPlan& plan) {
    std::vector<bool> grouped(static_cast<size_t>(placement.count(rank)));
    std::vector<int64_t> groups_of(static_cast<size_t>(placement.ranks));
    for (const std::vector<int>& members : schedule.groups(round)) {
        if (contribution == Contribution::rows && members.size() == 2) continue;
        GroupPlan group = make_group(members, placement, rank, contribution);
        for (GroupPlan::Part& part : group.parts) {
            if (!group.local()) part.index = groups_of[part.rank]++;
        }
        if (group.me < 0) continue;
        for (const int64_t row : group.rows) grouped[row] = true;
        plan.groups.push_back(std::move(group));
    }
    return grouped;
}

/// The links of the local rows that are in no group.
struct RoundLinks {
    std::vector<std::vector<graphs::Link>> in;  ///< Per local row: links with a weight.
    std::map<int, std::set<int64_t>> send;      ///< Local rows, by the rank that receives them.
    std::map<int, std::set<int64_t>> receive;   ///< Replicas, by the rank that sends them.
    bool has_terms = false;                     ///< There are such rows.

    int64_t rows_sent() const {
        std::set<int64_t> rows;
        for (const auto& [rank, sent] : send) rows.insert(sent.begin(), sent.end());
        return std::ssize(rows);
    }
};

RoundLinks collect_links(const graphs::Schedule& schedule, graphs::Round round,
                         const Placement& placement, int rank, const std::vector<bool>& grouped) {
    RoundLinks links;
    links.in.resize(grouped.size());
    for (size_t row = 0; row < grouped.size(); ++row) {
        if (grouped[row]) continue;
        const auto replica = static_cast<int>(placement.begin(rank) + static_cast<int64_t>(row));
        links.has_terms = true;
        links.in[row] = schedule.in(round, replica);
        std::erase_if(links.in[row], [](const graphs::Link& link) { return link.weight == 0; });
        for (const graphs::Link& link : links.in[row]) {
            const int holder = placement.rank_of(link.peer);
            if (holder != rank) links.receive[holder].insert(link.peer);
        }
        for (const graphs::Link& link : schedule.out(round, replica)) {
            const int user = placement.rank_of(link.peer);
            if (user != rank) links.send[user].insert(static_cast<int64_t>(row));
        }
    }
    return links;
}

// Gives each received row an index, and replaces the replicas in plan.receive by these indices.
// Returns the indices by replica.
std::map<int64_t, int64_t> number_received_rows(const Placement& placement, MixingPlan& plan) {
    std::map<int64_t, int64_t> received_index;
    for (RankRows& peer : plan.receive) {
        for (int64_t& replica : peer.rows) {
            received_index[replica] = plan.received_rows;
            plan.sender_rows.push_back(replica - placement.begin(peer.rank));
            replica = plan.received_rows++;
        }
    }
    return received_index;
}

// Returns the terms of each local row.
std::vector<std::vector<Source>> list_terms(std::vector<std::vector<graphs::Link>> in,
                                            const Placement& placement, int rank,
                                            const std::map<int64_t, int64_t>& received_index) {
    const int64_t first = placement.begin(rank);
    std::vector<std::vector<Source>> terms(in.size());
    for (size_t row = 0; row < in.size(); ++row) {
        // Kernels take differences from the first term, so the replica itself comes first if it has
        // a weight.
        const auto own = std::find_if(in[row].begin(), in[row].end(), [&](const auto& link) {
            return link.peer == first + static_cast<int64_t>(row);
        });
        if (own != in[row].end()) std::rotate(in[row].begin(), own, own + 1);
        for (const graphs::Link& link : in[row]) {
            const bool received = placement.rank_of(link.peer) != rank;
            terms[row].push_back({received,
                                  received ? received_index.at(link.peer) : link.peer - first,
                                  link.weight});
        }
    }
    return terms;
}

}  // namespace

bool GroupPlan::reduces_first() const {
    const auto& nodes = parts[me].nodes;
    return static_cast<int64_t>(nodes.size()) < parts[me].positions.end - parts[me].positions.begin;
}

bool MixingPlan::local() const {
    return send.empty() && receive.empty() &&
           std::all_of(groups.begin(), groups.end(), [](const GroupPlan& g) { return g.local(); });
}

MixingPlan make_mixing_plan(const graphs::Schedule& schedule, graphs::Round round,
                            const Placement& placement, int rank, Contribution contribution) {
    MixingPlan plan;
    const std::vector<bool> grouped =
        add_groups(schedule, round, placement, rank, contribution, plan);
    RoundLinks links = collect_links(schedule, round, placement, rank, grouped);
    plan.has_terms = links.has_terms;
    plan.rows_sent = links.rows_sent();
    plan.send = as_rank_rows(links.send);
    plan.receive = as_rank_rows(links.receive);
    const std::map<int64_t, int64_t> received_index = number_received_rows(placement, plan);
    plan.terms = list_terms(std::move(links.in), placement, rank, received_index);
    return plan;
}

arena::LocalMeans local_means(const MixingPlan& plan) {
    std::vector<std::vector<arena::LocalTerm>> terms(plan.terms.size());
    for (size_t row = 0; row < terms.size(); ++row) {
        for (const Source& source : plan.terms[row]) {
            terms[row].push_back({source.index, source.weight});
        }
    }
    std::vector<std::vector<int64_t>> groups;
    for (const GroupPlan& group : plan.groups) groups.push_back(group.rows);
    return {std::move(terms), groups};
}

MixingPlan make_mean_plan(const Placement& placement, int rank, Contribution contribution) {
    MixingPlan plan;
    std::vector<int> members(static_cast<size_t>(placement.replicas));
    std::iota(members.begin(), members.end(), 0);
    plan.groups.push_back(make_group(members, placement, rank, contribution));
    plan.terms.resize(static_cast<size_t>(placement.count(rank)));
    return plan;
}

}  // namespace dbench::comm
