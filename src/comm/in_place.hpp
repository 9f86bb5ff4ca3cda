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
    /// Offers `x` under `number` to those that read it by this plan.
    InPlace(HostMemory& memory, uint64_t number, const MixingPlan& plan, int rank, arena::Rows x);
    uint64_t number() const { return number_; }

    /// Whether a rank's rows are read in place, and so neither sent nor received.
    bool with(int rank) const { return memory_.with(rank); }
    /// Whether the group's mean is taken from its members' rows in place.
    bool takes(const GroupPlan& group) const;

    bool there();                    ///< whether all rows that are read here are
    std::vector<int> owing() const;  ///< whose are not
    /// Column 0 of a rank's local row, once it is there; of this rank's own, too.
    const char* row(int rank, int64_t local) const { return rows_.at(rank).at(local, 0); }

    void read() { memory_.read(number_); }  ///< this rank has read what it needs
    bool free() const { return readers_owing().empty(); }
    std::vector<int> readers_owing() const;

private:
    HostMemory& memory_;
    uint64_t number_;
    std::vector<int> sources_, readers_;
    std::map<int, arena::Rows> rows_;  // by rank, as they come
    std::shared_ptr<void> offered_;    // keeps them while others may read
};

}  // namespace dbench::comm
