#include "comm/host/in_place_exchange.hpp"

#include <utility>

namespace dbench::comm {

InPlaceExchange::InPlaceExchange(std::shared_ptr<HostMemory> memory, ScratchPool& pool,
                                 uint64_t number, int rank, std::vector<int> sources,
                                 std::vector<int> readers)
    : memory_(std::move(memory)),
      pool_(pool),
      number_(number),
      rank_(rank),
      sources_(std::move(sources)),
      readers_(std::move(readers)) {}

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
