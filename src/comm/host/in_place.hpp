#pragma once
// One exchange as far as ranks of this host read each other's rows in place: those of x, or, where
// they travel in 16 bits, those that hold their words. Internal to this room.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "comm/host/host_memory.hpp"
#include "comm/plans/mixing_plan.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

class InPlace {
public:
    /// `pool`: memory that others may read.
    InPlace(HostMemory& memory, ScratchPool& pool, uint64_t number, const MixingPlan& plan,
            int rank);
    uint64_t number() const { return number_; }

    /// Whether a rank's rows are read in place, and so neither sent nor received.
    bool with(int rank) const { return memory_.with(rank); }
    /// Whether the members of a group that spans ranks are all on this host.
    bool takes(const GroupPlan& group) const;

    /// Memory that others may read, until it is given back.
    char* take(int64_t bytes);
    void give_back();

    /// This rank's rows, to those that read them by the plan. Once.
    void offer(HeldRows rows);
    bool there();                    ///< whether all rows that are read here are
    std::vector<int> owing() const;  ///< whose are not
    /// A rank's local row, once it is there; of this rank's own, too.
    char* row(int rank, int64_t local) const { return rows_.at(rank).at(local); }

    /// Those of a group, by position, each with `before` bytes before it.
    std::vector<const void*> rows_of(const GroupPlan& group, int64_t before) const;

    /// This rank's parts of its groups' means, in the order of the groups. Once.
    void offer_means(HeldRows means);
    /// Whether a rank's are there.
    bool means_there(int rank);
    /// That of the rank's group `index`, once it is there.
    const char* mean(int rank, int64_t index) const { return means_.at(rank).at(index); }

    void read() { memory_.read(number_); }  ///< this rank has read what it needs
    bool free() const { return readers_owing().empty(); }
    std::vector<int> readers_owing() const;

private:
    HostMemory& memory_;
    ScratchPool& pool_;
    uint64_t number_;
    int rank_;
    std::vector<int> sources_, readers_;
    std::map<int, HeldRows> rows_, means_;     // by rank, as they come
    std::vector<std::shared_ptr<void>> lent_;  // what others may read
};

}  // namespace dbench::comm
