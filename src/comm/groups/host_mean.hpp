#pragma once
// The mean over a group whose members are all on this host, from rows that are read in place. Of
// the q ranks that hold members each makes one of q chunks of the columns, reading all rows there,
// and the others take it from where it has been put. Same bits as group_mean.hpp.

#include <vector>

#include "arena/messages/codec.hpp"
#include "arena/rows.hpp"
#include "comm/host/in_place.hpp"
#include "comm/plans/mixing_plan.hpp"

namespace dbench::comm {

class HostMean {
public:
    struct Options {
        arena::Codec codec;  ///< of the rows
        bool means_coded;    ///< the mean is put down in the codec, too
    };

    HostMean(const GroupPlan& plan, InPlace& host, arena::Rows x, arena::Columns columns,
             Options options)
        : plan_(plan), host_(host), x_(x), columns_(columns), options_(options) {}

    /// Makes this rank's chunk, once the rows are there, in row `index` of its part in `means`,
    /// which begin with the exchange's columns. One that is coded is left in x, too.
    void combine(HeldRows means) const;
    std::vector<int> owing() const;  ///< whose chunk is not there yet
    /// The whole mean into the group's rows of `out`, once all chunks are there.
    void copy_to(arena::Rows out, arena::Columns columns) const;
    /// The same, decoded, to one row, the first of `columns` first.
    void copy_to(char* row, arena::Columns columns) const;

private:
    int64_t travelling_size() const { return arena::size_of(options_.codec, x_.type); }

    const GroupPlan& plan_;
    InPlace& host_;
    arena::Rows x_;
    arena::Columns columns_;
    Options options_;
};

}  // namespace dbench::comm
