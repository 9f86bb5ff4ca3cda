#pragma once
// The mean over a group of replicas, as an all-reduce by messages along the fixed tree.
//
// This folder computes means of groups (GroupPlan) for the routes of mixing/: group_mean.hpp from
// rows at hand or by messages between ranks, coded_mean.hpp from rows in 16 bits. It starts no
// messages.
//
// Each of the q ranks that hold members owns one of q chunks of the columns.
//   1. reduce    Each rank turns its rows into the means of its k maximal subtrees (k = 1 for one
//                row or a whole subtree, at most 2 log2 R for R rows).
//   2. scatter   Each rank sends to each owner the owner's chunk of its subtrees: k (q-1)/q rows.
//   3. combine   Each owner turns its chunk of all subtrees into their mean, in tree order.
//   4. gather    Each owner sends its chunk of the mean to the others: (q-1)/q rows.
// The two message steps have q - 1 messages each (times k in the first). The bits of the mean do
// not depend on q.
//
// With a 16-bit codec every row is sent separately (k = R), and the mean is that of the rounded
// rows. An all-reduce of gradients also gathers in 16 bits, because replicas use the mean as it is.
// Mixing gathers in full precision, because replicas use the difference between the mean and what
// they sent, and the mean over replicas must be preserved.

#include <memory>
#include <span>
#include <vector>

#include "arena/messages/element_codec.hpp"
#include "arena/rows.hpp"
#include "comm/plans/mixing_plan.hpp"
#include "comm/scratch.hpp"
#include "comm/transport/transport.hpp"

namespace dbench::comm {

/// Returns part `index` of `columns` divided into `parts`, at multiples of 64 bytes. Some parts are
/// empty if there are few columns.
arena::Columns cut(arena::Columns columns, int64_t parts, int64_t index);

/// Writes the mean over a group's rows to each of this rank's rows of the group in `out`. `rows`
/// holds the address of column 0 of all rows, by position, and may include rows of `out`. With a
/// codec Q the result is Q(mean of Q(x)). Takes scratch from `pool` unless the queue is immediate.
void mean_of_rows(const GroupPlan& plan, std::span<const void* const> rows, arena::Columns columns,
                  arena::Rows out, arena::ElementCodec codec, arena::Queue& queue,
                  ScratchPool& pool);

/// One mean in flight between ranks. Call the functions in the order of their declaration; after
/// each `list_` function the listed messages must be moved before the next call.
class GroupMean {
public:
    struct Options {
        bool mean_into_x;  ///< Write the mean into the group's first row of x.
        arena::ElementCodec codec;
        bool gathers_coded;   ///< The mean travels in the codec, too.
        arena::Queue& queue;  ///< For `reduce` and `combine`.
    };

    GroupMean(const GroupPlan& plan, arena::Rows x, arena::Columns columns, ScratchPool& pool,
              Options options);

    /// Step 1: computes this rank's subtrees, and encodes them if there is a codec.
    void reduce();
    /// Step 2: lists the messages.
    void list_scatter(int tag, std::vector<Message>& out, std::vector<Message>& in);
    /// Step 3: computes this rank's chunk of the mean.
    void combine();
    /// Step 4: lists the messages.
    void list_gather(int tag, std::vector<Message>& out, std::vector<Message>& in);

    /// Decodes the gathered mean if it travelled in the codec.
    void decode_result(arena::Queue& queue);
    /// Returns the mean, address of column 0.
    void* result() const { return result_; }
    /// Copies the mean to the group's rows of `out`.
    void copy_to(arena::Rows out, arena::Columns columns, arena::Queue& queue) const;

private:
    bool coded() const { return options_.codec != arena::ElementCodec::identity; }
    /// Columns that a part's rank owns.
    arena::Columns chunk(size_t part) const;
    /// Bytes per element of a message.
    int64_t travelling_size() const { return arena::size_of(options_.codec, x_.type); }
    /// Takes scratch for a row of elements of `size` bytes; returns the address of column 0.
    char* take(arena::Columns columns, int64_t size);
    Message message(size_t part, int tag, const void* row, arena::Columns columns,
                    int64_t size) const;
    void encode(const void* row, void* words, arena::Columns columns) const;
    void decode(const void* words, void* row, arena::Columns columns, arena::Queue& queue) const;

    const GroupPlan& plan_;
    arena::Rows x_;
    arena::Columns columns_;
    ScratchPool& pool_;
    Options options_;
    std::vector<std::shared_ptr<void>> memory_;
    std::vector<arena::Summand> nodes_;  // this rank's subtrees, all columns
    std::vector<const void*> sent_;      // the same as they travel
    /// Per part: subtrees in this rank's chunk, as they travel.
    std::vector<std::vector<arena::Summand>> received_;
    char* result_;
    char* gathered_;  // the result as it travels
};

}  // namespace dbench::comm
