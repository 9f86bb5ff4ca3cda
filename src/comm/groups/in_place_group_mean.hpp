#pragma once
// The mean over a group whose members are all on this host, from rows that are read in place. Each
// of the q ranks that hold members computes one of q chunks of the columns from all rows, and the
// others copy it from shared memory. The bits are those of group_mean.hpp.

#include <vector>

#include "arena/messages/codec.hpp"
#include "arena/rows.hpp"
#include "comm/host/in_place_exchange.hpp"
#include "comm/plans/mixing_plan.hpp"

namespace dbench::comm {

/// The mean of one group. MixingOperation calls `combine` when all rows are ready, and `copy_to`
/// when all chunks are.
class InPlaceGroupMean {
public:
    struct Options {
        arena::Codec codec;  ///< Codec of the rows.
        bool means_coded;    ///< The mean is stored in the codec, too.
    };

    InPlaceGroupMean(const GroupPlan& plan, InPlaceExchange& host, arena::Rows x,
                     arena::Columns columns, Options options)
        : plan_(plan), host_(host), x_(x), columns_(columns), options_(options) {}

    /// Computes this rank's chunk and stores it in row `index` of its part in `means`, whose rows
    /// begin with the exchange's first column. With means_coded, x receives the decoded chunk, too.
    void combine(SharedRows means) const;
    /// Returns the ranks whose chunks are not ready.
    std::vector<int> awaited_ranks() const;
    /// Copies the whole mean to the group's rows of `out`. Requires that all chunks are ready.
    void copy_to(arena::Rows out, arena::Columns columns) const;
    /// Copies the mean, decoded, to one row; `row` is the address of the first of `columns`.
    void copy_to(char* row, arena::Columns columns) const;

private:
    int64_t travelling_size() const { return arena::size_of(options_.codec, x_.type); }

    const GroupPlan& plan_;
    InPlaceExchange& host_;
    arena::Rows x_;
    arena::Columns columns_;
    Options options_;
};

}  // namespace dbench::comm
