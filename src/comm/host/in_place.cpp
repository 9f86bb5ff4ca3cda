#include "comm/host/in_place.hpp"

#include <algorithm>
#include <set>

namespace dbench::comm {

InPlace::InPlace(HostMemory& memory, ScratchPool& pool, uint64_t number, const MixingPlan& plan,
                 int rank)
    : memory_(memory), pool_(pool), number_(number), rank_(rank) {
    std::set<int> sources, readers;
    for (const Parcel& parcel : plan.receive) {
        if (with(parcel.rank)) sources.insert(parcel.rank);
    }
    for (const Parcel& parcel : plan.send) {
        if (with(parcel.rank)) readers.insert(parcel.rank);
    }
    for (const GroupPlan& group : plan.groups) {
        if (!takes(group)) continue;
        for (const GroupPlan::Part& part : group.parts) {
            if (part.rank == rank) continue;
            sources.insert(part.rank);
            readers.insert(part.rank);
        }
    }
    sources_.assign(sources.begin(), sources.end());
    readers_.assign(readers.begin(), readers.end());
}

bool InPlace::takes(const GroupPlan& group) const {
    return !group.local() &&
           std::all_of(group.parts.begin(), group.parts.end(), [&](const GroupPlan::Part& part) {
               return part.rank == rank_ || with(part.rank);
           });
}

char* InPlace::take(int64_t bytes) {
    const std::shared_ptr<char> memory = pool_.take(bytes);
    lent_.push_back(memory);
    return memory.get();
}

void InPlace::give_back() {
    memory_.release(number_);
    lent_.clear();
}

void InPlace::offer(HeldRows rows) {
    rows_.emplace(rank_, rows);
    if (!readers_.empty()) lent_.push_back(memory_.offer(number_, rows));
}

bool InPlace::there() {
    for (const int rank : owing()) {
        if (const auto rows = memory_.rows_of(rank, number_)) rows_.emplace(rank, *rows);
    }
    return owing().empty();
}

std::vector<int> InPlace::owing() const {
    std::vector<int> ranks;
    for (const int rank : sources_) {
        if (!rows_.contains(rank)) ranks.push_back(rank);
    }
    return ranks;
}

std::vector<const void*> InPlace::rows_of(const GroupPlan& group, int64_t before) const {
    std::vector<const void*> rows;
    for (const GroupPlan::Part& part : group.parts) {
        for (const int64_t local : part.rows) rows.push_back(row(part.rank, local) - before);
    }
    return rows;
}

void InPlace::offer_means(HeldRows means) {
    means_.emplace(rank_, means);
    lent_.push_back(memory_.offer_means(number_, means));
}

bool InPlace::means_there(int rank) {
    if (means_.contains(rank)) return true;
    const auto means = memory_.means_of(rank, number_);
    if (means) means_.emplace(rank, *means);
    return means.has_value();
}

std::vector<int> InPlace::readers_owing() const {
    std::vector<int> ranks;
    for (const int rank : readers_) {
        if (!memory_.has_read(rank, number_)) ranks.push_back(rank);
    }
    return ranks;
}

}  // namespace dbench::comm
