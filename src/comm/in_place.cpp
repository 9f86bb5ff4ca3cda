#include "comm/in_place.hpp"

#include <algorithm>
#include <set>

namespace dbench::comm {
bool InPlace::takes(const GroupPlan& group) const {
    const int me = group.parts[group.me].rank;
    return !group.local() && group.members <= largest_group_ &&
           std::all_of(group.parts.begin(), group.parts.end(), [&](const GroupPlan::Part& part) {
               return part.rank == me || with(part.rank);
           });
}

InPlace::InPlace(HostMemory& memory, uint64_t number, const MixingPlan& plan, int rank,
                 arena::Rows x, int64_t largest_group)
    : memory_(memory), number_(number), largest_group_(largest_group), rows_{{rank, x}} {
    std::set<int> sources, readers, members;
    for (const Parcel& parcel : plan.receive) {
        if (with(parcel.rank)) sources.insert(parcel.rank);
    }
    for (const Parcel& parcel : plan.send) {
        if (with(parcel.rank)) readers.insert(parcel.rank);
    }
    for (const GroupPlan& group : plan.groups) {
        if (!takes(group)) continue;
        for (const GroupPlan::Part& part : group.parts) {
            if (part.rank != rank) members.insert(part.rank);
        }
    }
    sources.insert(members.begin(), members.end());
    readers.insert(members.begin(), members.end());
    sources_.assign(sources.begin(), sources.end());
    readers_.assign(readers.begin(), readers.end());
    members_.assign(members.begin(), members.end());
    if (!readers_.empty()) offered_ = memory_.offer(number_, x);
}

bool InPlace::there() {
    for (const int rank : owing()) {
        if (const auto rows = memory_.rows_of(rank, number_)) rows_.emplace(rank, *rows);
    }
    return rows_.size() == sources_.size() + 1;
}

std::vector<int> InPlace::owing() const {
    std::vector<int> ranks;
    for (const int rank : sources_) {
        if (!rows_.contains(rank)) ranks.push_back(rank);
    }
    return ranks;
}

std::vector<const void*> InPlace::rows_of(const GroupPlan& group) const {
    std::vector<const void*> rows;
    for (const GroupPlan::Part& part : group.parts) {
        for (const int64_t local : part.rows) rows.push_back(row(part.rank, local));
    }
    return rows;
}

std::vector<int> InPlace::combining() const {
    std::vector<int> ranks;
    for (const int rank : members_) {
        if (!memory_.has_combined(rank, number_)) ranks.push_back(rank);
    }
    return ranks;
}

std::vector<int> InPlace::readers_owing() const {
    std::vector<int> ranks;
    for (const int rank : readers_) {
        if (!memory_.has_read(rank, number_)) ranks.push_back(rank);
    }
    return ranks;
}

}  // namespace dbench::comm
