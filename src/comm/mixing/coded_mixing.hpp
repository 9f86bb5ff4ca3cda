#pragma once  // Private to comm/mixing.
// Mixing X <- W X with rows that travel in 16 bits, computed from differences of values that all
// ranks know:
//
//     out_i = x_i + sum_j w_ij (Q(x_j) - Q(x_i)),
//
// where Q rounds to the codec. A doubly stochastic W therefore preserves the mean over replicas,
// and equal rows remain equal. Local neighbours count as rounded, too, so that the bits do not
// depend on the placement.

#include <functional>
#include <memory>
#include <vector>

#include "arena/messages/coded_sums.hpp"
#include "arena/rows.hpp"
#include "comm/groups/coded_mean.hpp"
#include "comm/plans/mixing_plan.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

/// The source of one group's mean. Exactly one of the three members is set.
struct CodedGroup {
    /// The group's rows by position, if all are at hand: the mean is computed here.
    std::vector<CodedRow> rows;
    const char* computed = nullptr;  ///< The mean if it exists already; address of column 0.
    /// Writes the mean of `columns` to `to`, which is the address of the first of these columns.
    std::function<void(char* to, arena::Columns columns)> write_mean;
};

/// The rows that a rank mixes. Row addresses are those of column 0.
struct CodedInput {
    arena::ElementCodec codec;
    arena::Rows x;
    /// Per local row: the encoded row; null if it is not encoded yet.
    std::vector<const uint16_t*> own;
    std::vector<const uint16_t*> received;  ///< The encoded rows, by index in the plan.
    std::vector<CodedGroup> groups;         ///< Per group of the plan.
};

/// Computes one mixing, piece by piece of the columns.
class CodedMixing {
public:
    /// On an immediate queue a piece is processed tile by tile. On other queues all columns of a
    /// piece are one tile in memory of the pool; CodedGroup::write_mean must then be null.
    CodedMixing(const MixingPlan& plan, CodedInput in, ScratchPool& pool, arena::Queue& queue);

    /// Writes out = W x, or (W - I) x if `change`, for `columns`. `out` may be x only for W x.
    void mix(arena::Rows out, arena::Columns columns, bool change);

private:
    /// Mixes the columns of one tile.
    void mix_tile(arena::Rows out, arena::Columns columns, bool change);
    /// Returns the local row's encoded columns of the current tile.
    uint16_t* tile_words(int64_t row) const {
        return reinterpret_cast<uint16_t*>(words_.get()) + row * width_;
    }
    /// Returns the address of the group's mean of the first of `columns`.
    const char* mean_of(const CodedGroup& group, arena::Columns columns);
    /// Lists, for each local row, the encoded rows and weights of its sum.
    void list_terms();

    /// The location of a term's encoded row.
    struct Origin {
        /// Address of column 0; null: local row `local`, which is encoded tile by tile.
        const uint16_t* row;
        int64_t local;
    };

    const MixingPlan& plan_;
    const CodedInput in_;
    int64_t width_;  // columns of a tile
    /// Local rows that no other rank uses, which are therefore not encoded yet.
    std::vector<int64_t> to_encode_;
    std::vector<std::vector<Origin>> origins_;
    std::vector<std::vector<arena::CodedTerm>> terms_;
    ScratchPool& pool_;
    arena::Queue& queue_;
    /// [local rows, width_]: encoded rows of a tile; null if there are none.
    std::shared_ptr<char> words_;
    std::shared_ptr<char> mean_;  // [1, width_]: mean of a group
};

}  // namespace dbench::comm
