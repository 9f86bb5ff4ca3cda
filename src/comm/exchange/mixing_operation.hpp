#pragma once  // Private to comm/exchange.
// One exchange in flight: a mixing plan carried out for one range of columns. Exchange makes it.
//
// Life of an operation:
//   1. begin     Stages rows (copies them out of GPU memory) and encodes them, if needed; starts
//                messages.
//   2. advance   The engine calls it until all messages have moved.
//   3. finish    Writes the weighted sums to `out` (mixing_operation_finish.cpp).
//
// Rows of neighbours move in one of two ways:
//   messages   straight from x into receive buffers; a row is sent once to a rank, however many
//              replicas of that rank use it
//   in place   ranks of this host read them in shared memory (host/in_place_exchange.hpp)
//
// Groups are averaged in one of four ways: local groups by `finish`; groups of this host from rows
// in place (groups/in_place_group_mean.hpp, or whole by every rank if they are small); other groups
// by the scatter and gather steps of groups/group_mean.hpp; and a group of all replicas by the
// library's sum if the spec asks for it.
//
// The messages of one exchange share a tag. Both sides start them in the same order (rows, scatter,
// gather; within a step by group, then by tree node), and they arrive in this order. A step of the
// groups starts when the step before it has moved. If the transport has a queue
// (transport/row_transport.hpp), `begin` starts all steps at once, with the launches between them.

#include <functional>
#include <memory>
#include <vector>

#include "arena/kernels.hpp"
#include "arena/messages/codec.hpp"
#include "arena/rows.hpp"
#include "comm/exchange/coded_mixing.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/groups/group_mean.hpp"
#include "comm/groups/in_place_group_mean.hpp"
#include "comm/host/in_place_exchange.hpp"
#include "comm/plans/mixing_plan.hpp"
#include "comm/scratch.hpp"
#include "comm/transport/row_transport.hpp"
#include "comm/world/engine.hpp"

namespace dbench::comm {

/// Carries out one plan. The main thread begins and finishes it; any thread of the engine may
/// advance it.
class MixingOperation : public OperationInFlight {
public:
    /// How rows move and where they are computed.
    struct Options {
        bool mean_into_x;  ///< The mean of a group may be written into x before `finish`.
        /// The plan is one group of all replicas, summed by the transport's library.
        bool by_library;
        arena::Codec codec = arena::Codec::identity;  ///< Codec of messages. Requires !by_library.
        /// If set, ranks of this host read rows in shared memory (from x itself if there is no
        /// codec), and all other ranks get messages. Only group means with `mean_into_x` are
        /// written to x; else `finish` must write to other rows.
        std::shared_ptr<InPlaceExchange> in_place = nullptr;
        /// The place where rows are computed and from which they are sent. The host with in-place
        /// reads.
        arena::Place place = {};
    };

    /// `average`: W x. `change`: (W - I) x.
    enum class Result : uint8_t { average, change };
    using Then = std::function<void(arena::Columns)>;

    /// Prepares the exchange of `columns` of x under `tag`; starts nothing.
    MixingOperation(RowTransport& transport, std::shared_ptr<ScratchPool> pool,
                    std::shared_ptr<const MixingPlan> plan, arena::Rows x, arena::Columns columns,
                    int tag, Options options);

    /// Starts everything that needs no arithmetic. Returns true if arithmetic remains before the
    /// first messages of groups can be sent; `advance` does it.
    bool begin();

    /// The rows x.
    arena::Rows rows() const { return input_; }
    arena::Columns columns() const { return columns_; }
    /// The shared memory in which rows are read; null if all rows travel as messages.
    InPlaceExchange* in_place() const { return options_.in_place.get(); }
    /// True if queues alone order the arriving rows before later launches: the caller need not wait
    /// before `finish`, and rows may still be moving when `finish` returns.
    bool ordered() const { return transport_.queue() && !options_.place.immediate(); }
    bool finished() const { return finished_; }
    /// True if something moves between ranks, so that the engine must poll the operation.
    bool moves() const { return rows_ || !groups_.empty() || !in_place_groups_.empty(); }

    /// Writes `out` = W x or (W - I) x, piece by piece, and calls `then` (if set) after each piece.
    /// Requires that the operation is done, or ordered. `out` may be x only for W x, and with
    /// in-place reads only if `mean_into_x`.
    void finish(arena::Rows out, Result result, const std::vector<arena::Columns>& pieces,
                const Then& then);
    /// Passes the terms to `use`; see Exchange::finish_mix.
    bool finish(const Exchange::UseTerms& use);

protected:
    bool advance() override;
    std::vector<int> awaited_ranks() const override;

private:
    /// The step of the groups that is under way or comes next.
    enum class Phase : uint8_t { reduce, scatter, gather, library, moved };

    /// Replaces x_ by a copy in host memory: MPI may be unable to read GPU memory.
    void stage_rows();
    /// Encodes all rows that are sent to neighbours or read in place.
    void encode_rows();
    /// Starts the messages with rows of neighbours, and reserves memory for means of groups on this
    /// host.
    void start_rows();
    /// Starts the library's sum of all rows.
    void start_library_sum();
    /// Starts all steps of the groups at once, in the transport's order.
    void start_all_steps();
    /// Turns the library's sum into the mean.
    void scale_sum();
    /// True if the steps that have been started have moved.
    bool moved() const;
    /// Starts messages after the launches that compute their contents.
    std::unique_ptr<Transfer> send(const std::vector<Message>& out, const std::vector<Message>& in);
    /// Releases scratch memory, even if the caller keeps the token to reclaim the rows. Launches on
    /// the queue keep their own references.
    void release_scratch();
    /// Starts the messages that `list` lists for each group.
    void start_step(void (GroupMean::*list)(int, std::vector<Message>&, std::vector<Message>&));
    /// Takes the next steps of the groups that are possible; true at the end.
    bool advance_groups();
    /// Computes means of groups on this host as soon as the rows are ready; true at the end.
    bool advance_in_place();
    /// Writes the result from 16-bit rows.
    void finish_coded(arena::Rows out, Result result, const std::vector<arena::Columns>& pieces,
                      const Then& then);
    /// Writes the result from rows in full precision.
    void finish_uncoded(arena::Rows out, Result result, const std::vector<arena::Columns>& pieces,
                        const Then& then);
    /// Looks up the addresses of the rows that are read in place.
    void locate_rows_in_place();
    bool coded() const { return options_.codec != arena::Codec::identity; }
    /// Bytes per element of a message.
    int64_t travelling_size() const { return arena::size_of(options_.codec, x_.type); }
    /// Bytes of a message's row before the first column: buffers hold only `columns_`, addresses
    /// are those of column 0.
    int64_t bytes_before() const { return columns_.begin * travelling_size(); }
    /// Starts the messages of `begin`, and returns what `begin` returns.
    bool start_transfers();
    /// True if the rows of a group that spans ranks are read in place.
    bool read_in_place(const GroupPlan& group) const;
    /// True if, in addition, each rank computes one chunk of the group's mean; else every rank
    /// reads all rows.
    bool averaged_in_chunks(const GroupPlan& group) const;
    /// Returns the group's rows on this rank; addresses of column 0.
    std::vector<const void*> local_rows(const GroupPlan& group) const;
    /// Returns where finish_coded finds the mean of each group.
    std::vector<CodedGroup> coded_groups() const;
    /// Returns the terms of all local rows. Rows of groups are taken from `out`, which holds their
    /// mean.
    std::vector<std::vector<arena::Term>> terms(arena::Rows out) const;
    /// Returns the terms of all local rows that are in no group.
    std::vector<std::vector<arena::Term>> terms() const;
    /// Returns the terms of all local rows, with the rows or the mean of their groups. Empty if the
    /// mean of a group of more than two must still be computed.
    std::vector<std::vector<arena::Term>> all_terms() const;
    /// Returns the terms for weighted_changes: each row itself comes first, with weight 0 if W
    /// gives it none.
    std::vector<std::vector<arena::Term>> change_terms(arena::Rows out) const;

    RowTransport& transport_;
    std::shared_ptr<ScratchPool> pool_;
    std::shared_ptr<const MixingPlan> plan_;
    arena::Rows input_;  ///< x as the caller passed it; averages are computed from it.
    arena::Rows
        x_;  ///< The rows that travel: x, or a copy of the columns that the transport can read.
    arena::Columns columns_;
    int tag_;
    Options options_;
    /// The queue that computes rows to send: the transport's queue, or the exchange queue.
    arena::Queue& queue_;
    /// On queue_, after all messages of this operation and before those that start later.
    arena::Event moved_{};

    std::shared_ptr<char> staged_;  // [local rows, columns.count()]: memory of x_ if it is a copy
    /// [rows that arrive, columns.count()], encoded if there is a codec.
    std::shared_ptr<char> received_;
    std::vector<const char*> slots_;  // per slot: the received row, address of column 0
    std::shared_ptr<char> sent_;      // [rows that are sent, columns.count()]: encoded rows
    /// Per local row: its encoded row, address of column 0; null: not encoded.
    std::vector<const char*> words_;
    /// [columns.count()]: this rank's contribution to the library's sum.
    std::shared_ptr<char> local_sum_;
    std::vector<GroupMean> groups_;  // groups that span ranks and are averaged by messages
    std::vector<InPlaceGroupMean> in_place_groups_;  // groups of this host, averaged in chunks
    SharedRows means_;             // memory for this rank's chunks of in_place_groups_
    bool chunks_computed_ = true;  // true if these chunks have been computed
    Phase phase_ = Phase::moved;
    bool finished_ = false;
    std::unique_ptr<Transfer> rows_;  // messages with rows of neighbours
    /// Messages of groups: the steps that have been started.
    std::vector<std::unique_ptr<Transfer>> steps_;
};

}  // namespace dbench::comm
