#pragma once
// The mean over a group whose members are all on this host, from rows that are read in place. Of
// the q ranks that hold members each makes one of q chunks of the columns, reading all rows there,
// and leaves it in its first row, where nobody else reads that chunk. Same bits as group_mean.hpp.

#include "arena/rows.hpp"
#include "comm/in_place.hpp"
#include "comm/mixing_plan.hpp"

namespace dbench::comm {

class HostMean {
public:
    HostMean(const GroupPlan& plan, InPlace& host, arena::Rows x, arena::Columns columns)
        : plan_(plan), host_(host), x_(x), columns_(columns) {}

    void combine();  ///< makes this rank's chunk, once the rows are there
    /// The whole mean into the group's rows of `out`, once all have combined.
    void copy_to(arena::Rows out, arena::Columns columns) const;

private:
    const GroupPlan& plan_;
    InPlace& host_;
    arena::Rows x_;
    arena::Columns columns_;
};

}  // namespace dbench::comm
