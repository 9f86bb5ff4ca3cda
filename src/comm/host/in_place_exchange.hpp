#pragma once
// One exchange in which ranks of this host read each other's rows in place: the rows x, or, with a
// 16-bit codec, their encoded words in shared scratch. MixingOperation uses it. Internal to this
// module.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "comm/host/host_memory.hpp"
#include "comm/plans/mixing_plan.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

/// The rows, means and readers of one exchange number. Steps: `offer`; `rows_ready` until true; if
/// group means are computed, `offer_means` and `mean_ready`; `mark_read`; `all_read` until true;
/// `release`.
class InPlaceExchange {
public:
    /// `pool`: memory that others can read. `sources`: the ranks whose rows this rank reads.
    /// `readers`: those that read the rows of this rank, `rank`.
    InPlaceExchange(std::shared_ptr<HostMemory> memory, ScratchPool& pool, uint64_t number,
                    int rank, std::vector<int> sources, std::vector<int> readers);

    /// Returns memory that others can read, valid until `release`.
    char* take(int64_t bytes);
    /// Ends the exchange: frees its number and its memory. Requires `all_read`.
    void release();

    /// Offers this rank's rows to the ranks that the plan names. Once.
    void offer(SharedRows rows);
    /// True if all rows that this rank reads have been offered.
    bool rows_ready();
    /// Returns the ranks that have not offered their rows.
    std::vector<int> awaited_ranks() const;
    /// Returns the address of a rank's local row (this rank's own, too). Requires that it has been
    /// offered.
    char* row(int rank, int64_t local) const { return rows_.at(rank).at(local); }

    /// Returns the addresses of a group's rows by position, each minus `before` bytes.
    std::vector<const void*> rows_of(const GroupPlan& group, int64_t before) const;

    /// Offers this rank's parts of its groups' means, in the order of the groups. Once.
    void offer_means(SharedRows means);
    /// True if a rank's parts have been offered.
    bool mean_ready(int rank);
    /// Returns the part of the rank's group `index`. Requires that it has been offered.
    const char* mean(int rank, int64_t index) const { return means_.at(rank).at(index); }

    /// Marks that this rank has read all that it needs.
    void mark_read() { memory_->mark_read(number_); }
    /// True if all readers have read this rank's rows.
    bool all_read() const { return remaining_readers().empty(); }
    /// Returns the readers that have not.
    std::vector<int> remaining_readers() const;

private:
    std::shared_ptr<HostMemory> memory_;
    ScratchPool& pool_;
    uint64_t number_;
    int rank_;
    std::vector<int> sources_, readers_;
    std::map<int, SharedRows> rows_, means_;            // by rank; added when they are found
    std::vector<std::shared_ptr<void>> shared_memory_;  // memory that others may read
};

}  // namespace dbench::comm
