#pragma once
// One exchange in flight: the messages of a mixing plan over a range of columns.
//
// Rows of neighbours go in one step, straight from x into receive rows: a row goes once to a rank,
// however many replicas there use it. Groups take the four steps of group_mean.hpp, all groups of
// the plan at the same time. Messages of one exchange share a tag: both sides start them in the
// same order (rows, scatter, gather; by group, then by node), which is the order of arrival.

#include <memory>
#include <vector>

#include "arena/codec.hpp"
#include "arena/kernels.hpp"
#include "arena/rows.hpp"
#include "comm/engine.hpp"
#include "comm/exchange.hpp"
#include "comm/group_mean.hpp"
#include "comm/mixing_plan.hpp"
#include "comm/row_plane.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

class Operation : public Pending {
public:
    struct Options {
        bool in_place;    ///< a group's mean may be put into x before `finish`
        bool by_library;  ///< the plan is one group of all replicas, summed by the plane's library
        arena::Codec codec = arena::Codec::identity;  ///< of what travels; not with by_library
    };

    enum class Result : uint8_t { average, change };

    Operation(RowPlane& plane, std::shared_ptr<ScratchPool> pool,
              std::shared_ptr<const MixingPlan> plan, arena::Rows x, arena::Columns columns,
              int tag, Options options);

    /// Starts what needs no arithmetic; whether the rest does.
    bool begin();

    arena::Rows rows() const { return x_; }

    /// out = W x or (W - I) x, once it is done; out may be x only for the first.
    void finish(arena::Rows out, Result result = Result::average);

protected:
    bool advance() override;
    std::vector<int> owing() const override;

private:
    enum class Phase : uint8_t { reduce, scatter, gather, library, moved };

    void begin_rows();
    void begin_library();
    void start_groups(void (GroupMean::*list)(int, std::vector<Message>&, std::vector<Message>&));
    bool advance_groups();
    void finish_coded(arena::Rows out, Result result);
    bool coded() const { return options_.codec != arena::Codec::identity; }
    std::vector<std::vector<arena::Term>> terms(arena::Rows out) const;
    std::vector<std::vector<arena::Term>> changes(arena::Rows out) const;

    RowPlane& plane_;
    std::shared_ptr<ScratchPool> pool_;
    std::shared_ptr<const MixingPlan> plan_;
    arena::Rows x_;
    arena::Columns columns_;
    int tag_;
    Options options_;

    std::shared_ptr<char> received_;   // [slots, columns.count()], as they travel
    std::shared_ptr<char> sent_;       // [rows that are sent, columns.count()], with a codec
    std::shared_ptr<char> local_sum_;  // [columns.count()], for the library
    std::vector<GroupMean> groups_;    // those that span ranks
    Phase phase_ = Phase::moved;
    std::unique_ptr<Transfer> rows_, step_;  // of neighbours; of the groups' present phase
};

}  // namespace dbench::comm
