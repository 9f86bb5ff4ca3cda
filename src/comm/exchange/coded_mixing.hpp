#pragma once
// X <- W X where rows travel in 16 bits: in differences of what all can know,
//
//     out_i = x_i + sum_j w_ij (Q(x_j) - Q(x_i)),
//
// so that a doubly stochastic W leaves the mean over replicas as it is, and equal rows stay what
// they are. Local neighbours count as rounded, too: bits do not depend on the placement.

#include <functional>
#include <memory>
#include <vector>

#include "arena/messages/coded_sums.hpp"
#include "arena/rows.hpp"
#include "comm/groups/coded_mean.hpp"
#include "comm/plans/mixing_plan.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

/// A group's mean: of rows that are at hand; where there are none, as it is; or put to an address,
/// the first of the columns first.
struct CodedGroup {
    std::vector<CodedRow> rows;  ///< by position
    const char* made = nullptr;  ///< address of column 0
    std::function<void(char* to, arena::Columns columns)> mean;
};

/// What a rank has to mix; addresses of column 0.
struct CodedInput {
    arena::Codec codec;
    arena::Rows x;
    std::vector<const uint16_t*> own;       ///< per local row: its words; null: not yet encoded
    std::vector<const uint16_t*> received;  ///< per slot of the plan
    std::vector<CodedGroup> groups;         ///< per group of the plan
};

/// One mixing, by pieces of the columns.
class CodedMixing {
public:
    /// On `queue`, where there is one: all columns of a piece together, in memory of the pool. No
    /// group's mean is put to an address then.
    CodedMixing(const MixingPlan& plan, CodedInput in, ScratchPool& pool, arena::Queue* queue);

    /// out = W x, or (W - I) x if `change`, for `columns`; out may be x only for the first.
    void mix(arena::Rows out, arena::Columns columns, bool change);

private:
    void mix_tile(arena::Rows out, arena::Columns columns, bool change);
    uint16_t* tile_words(int64_t row) const {
        return reinterpret_cast<uint16_t*>(words_.get()) + row * width_;
    }
    const char* mean_of(const CodedGroup& group, arena::Columns columns);
    void make_terms();

    /// Where a term's words come from: the row itself, or the tile's encoded rows.
    struct Origin {
        const uint16_t* row;  ///< address of column 0; null: a local row of the tile
        int64_t local;
    };

    const MixingPlan& plan_;
    const CodedInput in_;
    int64_t width_;                   // columns of a tile
    std::vector<int64_t> to_encode_;  // local rows that only this rank uses
    std::vector<std::vector<Origin>> origins_;
    std::vector<std::vector<arena::CodedTerm>> terms_;
    ScratchPool& pool_;
    arena::Queue* const queue_;
    std::shared_ptr<char> words_;  // [local rows, width], where there are any to encode
    std::shared_ptr<char> mean_;   // [1, width], of a group
};

}  // namespace dbench::comm
