#include "comm/host/in_place_exchange.hpp"

#include <algorithm>
#include <set>

namespace dbench::comm {

InPlaceExchange::InPlaceExchange(std::shared_ptr<HostMemory> memory, ScratchPool& pool,
                                 uint64_t number, const MixingPlan& plan, int rank)
    : memory_(std::move(memory)), pool_(pool), number_(number), rank_(rank) {
    std::set<int> sources, readers;
    for (const RankRows& peer : plan.receive) {
        if (covers_rank(peer.rank)) sources.insert(peer.rank);
    }
    for (const RankRows& peer : plan.send) {
        if (covers_rank(peer.rank)) readers.insert(peer.rank);
    }
    for (const GroupPlan& group : plan.groups) {
        if (!covers(group)) continue;
        for (const GroupPlan::Part& part : group.parts) {
            if (part.rank == rank) continue;
            sources.insert(part.rank);
            readers.insert(part.rank);
        }
    }
    sources_.assign(sources.begin(), sources.end());
    readers_.assign(readers.begin(), readers.end());
}

bool InPlaceExchange::covers(const GroupPlan& group) const {
    return !group.local() &&
           std::all_of(group.parts.begin(), group.parts.end(), [&](const GroupPlan::Part& part) {
               return part.rank == rank_ || covers_rank(part.rank);
           });
}

char* InPlaceExchange::take(int64_t bytes) {
    const std::shared_ptr<char> memory = pool_.take(bytes);
    shared_memory_.push_back(memory);
    return memory.get();
}

void InPlaceExchange::release() {
    memory_->release(number_);
    shared_memory_.clear();
}

void InPlaceExchange::offer(SharedRows rows) {
    rows_.emplace(rank_, rows);
    if (!readers_.empty()) shared_memory_.push_back(memory_->offer(number_, rows));
}

bool InPlaceExchange::rows_ready() {
    for (const int rank : awaited_ranks()) {
        if (const auto rows = memory_->rows_of(rank, number_)) rows_.emplace(rank, *rows);
    }
    return awaited_ranks().empty();
}

std::vector<int> InPlaceExchange::awaited_ranks() const {
    std::vector<int> ranks;
    for (const int rank : sources_) {
        if (!rows_.contains(rank)) ranks.push_back(rank);
    }
    return ranks;
}

std::vector<const void*> InPlaceExchange::rows_of(const GroupPlan& group, int64_t before) const {
    std::vector<const void*> rows;
    for (const GroupPlan::Part& part : group.parts) {
        for (const int64_t local : part.rows) rows.push_back(row(part.rank, local) - before);
    }
    return rows;
}

void InPlaceExchange::offer_means(SharedRows means) {
    means_.emplace(rank_, means);
    shared_memory_.push_back(memory_->offer_means(number_, means));
}

bool InPlaceExchange::mean_ready(int rank) {
    if (means_.contains(rank)) return true;
    const auto means = memory_->means_of(rank, number_);
    if (means) means_.emplace(rank, *means);
    return means.has_value();
}

std::vector<int> InPlaceExchange::remaining_readers() const {
    std::vector<int> ranks;
    for (const int rank : readers_) {
        if (!memory_->has_read(rank, number_)) ranks.push_back(rank);
    }
    return ranks;
}

}  // namespace dbench::comm
