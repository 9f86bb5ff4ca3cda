#pragma once
// One exchange as far as ranks of this host read each other's rows in place. Internal to this room.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "arena/rows.hpp"
#include "comm/host_memory.hpp"
#include "comm/mixing_plan.hpp"

namespace dbench::comm {

class InPlace {
public:
    /// Offers `x` under `number` to those that read it by this plan. Groups are read in place up to
    /// `largest_group` members.
    InPlace(HostMemory& memory, uint64_t number, const MixingPlan& plan, int rank, arena::Rows x,
            int64_t largest_group);
    uint64_t number() const { return number_; }

    /// Whether a rank's rows are read in place, and so neither sent nor received.
    bool with(int rank) const { return memory_.with(rank); }
    /// Whether the members of a group that spans ranks are all on this host, and not too many.
    bool takes(const GroupPlan& group) const;

    bool there();                    ///< whether all rows that are read here are
    std::vector<int> owing() const;  ///< whose are not
    /// Column 0 of a rank's local row, once it is there; of this rank's own, too.
    const char* row(int rank, int64_t local) const { return rows_.at(rank).at(local, 0); }
    std::vector<const void*> rows_of(const GroupPlan& group) const;  ///< by position

    void combined() { memory_.combined(number_); }  ///< this rank's chunks of means are made
    std::vector<int> combining() const;             ///< members of groups whose are not

    void read() { memory_.read(number_); }  ///< this rank has read what it needs
    bool free() const { return readers_owing().empty(); }
    std::vector<int> readers_owing() const;

private:
    HostMemory& memory_;
    uint64_t number_;
    int64_t largest_group_;
    std::vector<int> sources_, readers_, members_;
    std::map<int, arena::Rows> rows_;  // by rank, as they come
    std::shared_ptr<void> offered_;    // keeps them while others may read
};

}  // namespace dbench::comm
