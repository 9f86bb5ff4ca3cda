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

#include <memory>
#include <vector>

#include "arena/rows.hpp"
#include "comm/mixing_plan.hpp"
#include "comm/plane.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

/// Part `index` of `columns` cut into `parts`, at multiples of 64 bytes; empty for some when there
/// are too few columns.
arena::Columns cut(arena::Columns columns, int64_t parts, int64_t index);

/// out = mean over the rows' group, all of whose members are here, for each of its rows of `out`.
/// Rows of `out` may be those of x.
void local_group_mean(const GroupPlan& plan, arena::Rows x, arena::Columns columns,
                      arena::Rows out);

/// One such mean on its way between ranks; the functions are called in their order, those that
/// list messages followed by the messages' travel.
class GroupMean {
public:
    /// `in_place`: the mean comes into the group's first row of x.
    GroupMean(const GroupPlan& plan, arena::Rows x, arena::Columns columns, ScratchPool& pool,
              bool in_place);

    void reduce();
    void list_scatter(int tag, std::vector<Message>& out, std::vector<Message>& in);
    void combine();
    void list_gather(int tag, std::vector<Message>& out, std::vector<Message>& in);

    void* result() const { return result_; }  ///< the mean, address of column 0
    void copy_to(arena::Rows out) const;      ///< into the group's rows of `out`

private:
    arena::Columns chunk(size_t part) const;
    char* take(arena::Columns columns);  // a row of scratch, address of column 0
    char* at(void* row, arena::Columns columns) const;
    Message message(size_t part, int tag, void* row, arena::Columns columns) const;

    const GroupPlan& plan_;
    arena::Rows x_;
    arena::Columns columns_;
    ScratchPool& pool_;
    std::vector<std::shared_ptr<char>> memory_;
    std::vector<arena::Summand> nodes_;                  // mine, all columns
    std::vector<std::vector<arena::Summand>> received_;  // per part, my chunk
    char* result_;
};

}  // namespace dbench::comm
