#pragma once
// X <- W X where rows travel in 16 bits: in differences of what all can know,
//
//     out_i = x_i + sum_j w_ij (Q(x_j) - Q(x_i)),
//
// so that a doubly stochastic W leaves the mean over replicas as it is, and equal rows stay what
// they are. Local neighbours count as rounded, too: bits do not depend on the placement.

#include <vector>

#include "arena/codec.hpp"
#include "arena/rows.hpp"
#include "comm/mixing_plan.hpp"

namespace dbench::comm {

/// What has come to a rank, for `columns`.
struct CodedInput {
    arena::Codec codec;
    arena::Rows x;
    arena::Columns columns;
    const uint16_t* received;              ///< [plan.slots, columns.count()]
    std::vector<const void*> group_means;  ///< per group, address of column 0; null: a local one
};

/// out = W x, or (W - I) x if `change`, for `columns`; out may be x only for the first.
void mix_coded(const MixingPlan& plan, const CodedInput& in, arena::Rows out, bool change);

}  // namespace dbench::comm
