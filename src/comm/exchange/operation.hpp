#pragma once
// One exchange in flight: the messages of a mixing plan over a range of columns.
//
// Rows of neighbours go in one step, straight from x into receive rows: a row goes once to a rank,
// however many replicas there use it; or they stay where they are and are read there
// (in_place.hpp), as are those of groups. Other groups take the four steps of group_mean.hpp, all
// groups of the plan at the same time. Messages of one exchange share a tag: both sides start
// them in the same order (rows, scatter, gather; by group, then by node), which is the order of
// arrival. A step of groups starts when the one before has moved; or, on a transport that has a
// queue (row_plane.hpp), all steps start when the exchange begins, with what is computed between
// them.

#include <functional>
#include <memory>
#include <vector>

#include "arena/kernels.hpp"
#include "arena/messages/codec.hpp"
#include "arena/rows.hpp"
#include "comm/exchange/coded_mixing.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/groups/group_mean.hpp"
#include "comm/groups/host_mean.hpp"
#include "comm/host/in_place.hpp"
#include "comm/plans/mixing_plan.hpp"
#include "comm/scratch.hpp"
#include "comm/transport/row_transport.hpp"
#include "comm/world/engine.hpp"

namespace dbench::comm {

class Operation : public Pending {
public:
    struct Options {
        bool in_place;    ///< a group's mean may be put into x before `finish`
        bool by_library;  ///< the plan is one group of all replicas, summed by the transport's
                          ///< library
        arena::Codec codec = arena::Codec::identity;  ///< of what travels; not with by_library
        /// Where not null, rows go this way wherever it leads, from x itself if they travel as they
        /// are. Only means in place are written to x; else `finish` writes elsewhere.
        std::shared_ptr<InPlace> host = nullptr;
        /// Where rows are computed, and what is sent is made of them. Not with `host`.
        arena::Queues queues = {};
    };

    enum class Result : uint8_t { average, change };
    using Then = std::function<void(arena::Columns)>;

    Operation(RowTransport& transport, std::shared_ptr<ScratchPool> pool,
              std::shared_ptr<const MixingPlan> plan, arena::Rows x, arena::Columns columns,
              int tag, Options options);

    /// Starts what needs no arithmetic; whether the rest does.
    bool begin();

    arena::Rows rows() const { return home_; }
    arena::Columns columns() const { return columns_; }
    InPlace* host() const { return options_.host.get(); }
    /// Whether what comes is ordered before what is computed by the queues alone: `finish` need not
    /// be waited for then, and rows may move when it is over.
    bool ordered() const { return transport_.queue() && options_.queues.compute; }
    bool finished() const { return finished_; }
    /// Whether something moves between ranks, so that somebody has to look after it.
    bool moves() const { return rows_ || !groups_.empty() || !host_groups_.empty(); }

    /// out = W x or (W - I) x, once it is done, or ordered, piece by piece; out may be x only for
    /// the first, and not in place. `then`, where not empty, is told of each piece.
    void finish(arena::Rows out, Result result, const std::vector<arena::Columns>& pieces,
                const Then& then);
    /// The other way, see Exchange::finish_mix.
    bool finish(const Exchange::UseTerms& use);

protected:
    bool advance() override;
    std::vector<int> owing() const override;

private:
    enum class Phase : uint8_t { reduce, scatter, gather, library, moved };

    void stage_rows();
    void encode_rows();
    void begin_rows();
    void begin_library();
    void begin_groups();
    void scale_sum();
    bool moved() const;
    std::unique_ptr<Transfer> send(const std::vector<Message>& out, const std::vector<Message>& in);
    void let_go();
    void start_groups(void (GroupMean::*list)(int, std::vector<Message>&, std::vector<Message>&));
    bool advance_groups();
    bool advance_in_place();
    void finish_coded(arena::Rows out, Result result, const std::vector<arena::Columns>& pieces,
                      const Then& then);
    void finish_whole(arena::Rows out, Result result, const std::vector<arena::Columns>& pieces,
                      const Then& then);
    void find_rows();
    bool coded() const { return options_.codec != arena::Codec::identity; }
    int64_t travelling_size() const { return arena::size_of(options_.codec, x_.type); }
    int64_t before() const { return columns_.begin * travelling_size(); }
    /// Whether a group's rows are read in place: in chunks, of which each rank makes one, or whole
    /// by every rank.
    bool put();  // what begins
    bool on_host(const GroupPlan& group) const;
    bool in_chunks(const GroupPlan& group) const;
    std::vector<const void*> local_rows(const GroupPlan& group) const;
    std::vector<CodedGroup> coded_groups() const;
    std::vector<std::vector<arena::Term>> terms(arena::Rows out) const;
    std::vector<std::vector<arena::Term>> terms() const;  // but for groups
    /// With those of groups, where none is more than a pair, or its mean has come; else empty.
    std::vector<std::vector<arena::Term>> sources() const;
    std::vector<std::vector<arena::Term>> changes(arena::Rows out) const;

    RowTransport& transport_;
    std::shared_ptr<ScratchPool> pool_;
    std::shared_ptr<const MixingPlan> plan_;
    arena::Rows home_;  ///< x as it was given, which averages are made of
    arena::Rows
        x_;  ///< what travels: the same, or a copy of these columns that the transport reads
    arena::Columns columns_;
    int tag_;
    Options options_;
    arena::Queue* queue_;   // where what is sent is made: the transport's, or the rank's
    arena::Event moved_{};  // there, behind all that moves: what starts later is not waited for

    std::shared_ptr<char> staged_;       // [local rows, columns.count()], where x_ is a copy
    std::shared_ptr<char> received_;     // [rows that arrive, columns.count()], as they travel
    std::vector<const char*> slots_;     // per slot: where column 0 is, or would be
    std::shared_ptr<char> sent_;         // [rows that are sent, columns.count()], with a codec
    std::vector<const char*> words_;     // per local row: these, like slots_; null: not encoded
    std::shared_ptr<char> local_sum_;    // [columns.count()], for the library
    std::vector<GroupMean> groups_;      // those that span ranks
    std::vector<HostMean> host_groups_;  // those of this host in chunks
    HeldRows means_;                     // where this rank's chunks of these go
    bool combined_ = true;               // whether they are made
    Phase phase_ = Phase::moved;
    bool finished_ = false;
    std::unique_ptr<Transfer> rows_;                // of neighbours
    std::vector<std::unique_ptr<Transfer>> steps_;  // of groups, as far as they have been started
};

}  // namespace dbench::comm
