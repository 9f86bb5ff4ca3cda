#pragma once
// The mean over a group of replicas, as an all-reduce along the fixed tree.
//
// Of the q ranks that hold members, each owns one of q chunks of the columns.
//   1. reduce    each rank's rows become the means of its k maximal subtrees (k = 1 for one row or
//                a whole subtree, at most 2 log2 R)
//   2. scatter   to each owner its chunk of the subtrees: k (q-1)/q rows out
//   3. combine   each owner's chunk of all subtrees becomes their mean, in tree order
//   4. gather    each owner sends its chunk of the mean to the others: (q-1)/q rows out
// Two steps of q - 1 messages each (times k in the first); bits do not depend on q.
//
// In 16 bits every row goes by itself (k = R) and the mean is that of rounded rows. It is gathered
// in 16 bits too where replicas take it as it is (all-reduce of gradients), but whole where they
// take its difference from what they sent (mixing), so that the mean over replicas stays.

#include <memory>
#include <span>
#include <vector>

#include "arena/messages/codec.hpp"
#include "arena/rows.hpp"
#include "comm/plans/mixing_plan.hpp"
#include "comm/scratch.hpp"
#include "comm/transport/transport.hpp"

namespace dbench::comm {

/// Part `index` of `columns` cut into `parts`, at multiples of 64 bytes; empty for some when there
/// are too few columns.
arena::Columns cut(arena::Columns columns, int64_t parts, int64_t index);

/// out = mean over the group's rows (column 0 of each, by position), for each of this rank's rows
/// of it in `out`, which may be among them. With a codec Q it is Q(mean of Q(x)); with a queue,
/// too, in memory of the pool.
void mean_of_rows(const GroupPlan& plan, std::span<const void* const> rows, arena::Columns columns,
                  arena::Rows out, arena::Codec codec, arena::Queue* queue = nullptr,
                  ScratchPool* pool = nullptr);

/// One such mean on its way between ranks; the functions are called in their order, those that
/// list messages followed by the messages' travel.
class GroupMean {
public:
    struct Options {
        bool in_place;  ///< the mean comes into the group's first row of x
        arena::Codec codec;
        bool gathers_coded;             ///< the mean travels in the codec too
        arena::Queue* queue = nullptr;  ///< where `reduce` and `combine` add rows
    };

    GroupMean(const GroupPlan& plan, arena::Rows x, arena::Columns columns, ScratchPool& pool,
              Options options);

    void reduce();
    void list_scatter(int tag, std::vector<Message>& out, std::vector<Message>& in);
    void combine();
    void list_gather(int tag, std::vector<Message>& out, std::vector<Message>& in);

    void arrive(arena::Queue* queue);         ///< makes of what was gathered the mean
    void* result() const { return result_; }  ///< the mean, address of column 0
    /// Into the group's rows of `out`.
    void copy_to(arena::Rows out, arena::Columns columns, arena::Queue* queue) const;

private:
    bool coded() const { return options_.codec != arena::Codec::identity; }
    arena::Columns chunk(size_t part) const;
    int64_t travelling_size() const { return arena::size_of(options_.codec, x_.type); }
    // A row of scratch for elements of `size` bytes, address of column 0.
    char* take(arena::Columns columns, int64_t size);
    Message message(size_t part, int tag, const void* row, arena::Columns columns,
                    int64_t size) const;
    void encode(const void* row, void* words, arena::Columns columns) const;
    void decode(const void* words, void* row, arena::Columns columns, arena::Queue* queue) const;

    const GroupPlan& plan_;
    arena::Rows x_;
    arena::Columns columns_;
    ScratchPool& pool_;
    Options options_;
    std::vector<std::shared_ptr<void>> memory_;
    std::vector<arena::Summand> nodes_;                  // mine, all columns
    std::vector<const void*> sent_;                      // the same as they travel
    std::vector<std::vector<arena::Summand>> received_;  // per part, my chunk, as they travel
    char* result_;
    char* gathered_;  // the result as it travels
};

}  // namespace dbench::comm
