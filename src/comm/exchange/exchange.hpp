#pragma once
// The interface through which training communicates: mixing X <- W X, all-reduce, opaque messages,
// and moments over replicas, for any placement of replicas on ranks.
//
// The route of a bucket: the columns of updated parameters, from the local update to the neighbours
// and into the averaged row:
//
//   1. start_mix         The caller passes rows whose local update is done. Exchange looks up the
//                        MixingPlan of the round, or makes it (plans/mixing_plan.hpp).
//                        It then chooses the routes (mixing/choose_routes.hpp).
//   2. MixingOperation   Holds one plan, the rows x and one range of columns
//                        (mixing/mixing_operation.hpp). Its `begin` stages rows (copies them out of
//                        GPU memory) if the transport cannot read them there, encodes them if a
//                        codec is set, and starts all routes.
//   3. RowTransport      Moves the bytes by MPI, by NCCL or between threads
//                        (transport/row_transport.hpp). Ranks of a host may read each other's rows
//                        in place, without messages (host/in_place_exchange.hpp).
//   4. Engine            Polls the operation on the progress thread while the main thread computes
//                        (world/engine.hpp).
//   5. finish_mix        Waits for the operation and writes the weighted sums of local and received
//                        rows to `out` (mixing/mixing_operation_finish.cpp).
//   6. reclaim           Waits until no other rank reads the rows in place any more.
//
// The folder mixing/ holds the operation and its routes. Other files of this folder:
// delivery_operation.hpp moves messages that are not rows, moments.cpp reduces moments,
// transfer_operation.hpp holds messages that only queues wait for.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "arena/device/memory.hpp"
#include "arena/layout.hpp"
#include "arena/messages/element_codec.hpp"
#include "arena/rows.hpp"
#include "arena/tree.hpp"
#include "arena/updates/update_and_mix.hpp"
#include "comm/placement.hpp"
#include "comm/plans/cost.hpp"
#include "comm/world/world.hpp"
#include "graphs/schedule.hpp"

namespace dbench::comm {

/// How all-reduces add: along the fixed tree, or by the library's own sum.
enum class Reduction : uint8_t { reproducible, library };
/// How long the caller leaves exchanged rows unchanged: until the finish call, or until `reclaim`.
enum class RowLifetime : uint8_t { until_finish, until_reclaimed };

/// The writer of opaque messages, which also reads those that arrive: the host, or launches on the
/// compute queue. In the second case the messages are sent after the launches that are already on
/// the queue.
enum class MessageWriter : uint8_t { host, queue };

/// An operation in flight, for example an exchange that was started. The token identifies it; pass
/// it to the matching finish call.
class OperationInFlight;
using Token = std::shared_ptr<OperationInFlight>;

/// A message that a local replica uses, from replica j (possibly itself), with the weight W_ij.
struct UsedMessage {
    int64_t replica;
    double weight;
    const char* message;
};

/// Sums of squared deviations from the mean over all replicas (centred, not divided by n), for a
/// set of rows.
struct SecondMoments {
    std::vector<double> m2;  ///< Per tensor [T]: sum_i ||x_i,t - mean_t||^2, on every rank.
    uint64_t bytes = 0;      ///< Bytes that this rank sent for the computation.
};

/// Second moments that the device may not have computed yet.
struct DeferredMoments {
    /// Per segment [S] of the layout (a part of a tensor); Layout::sum_segments adds them up per
    /// tensor.
    std::shared_ptr<const arena::HostVisibleArray<double>> m2;
    uint64_t bytes = 0;  ///< Bytes that this rank sends for the computation.
};

/// Starts and finishes the exchanges of one training run. One object per rank; all ranks make the
/// same calls in the same order. Only the main thread may call it.
class Exchange {
public:
    /// Prepares exchanges over the world's ranks. `schedule` may be null (centralized training, no
    /// mixing). Mixing and all-reduce send rows in `codec`; moments are always exact. Collective.
    /// Keeps references to the world, the layout and the schedule.
    Exchange(World& world, const Placement& placement, const arena::Layout& layout,
             const graphs::Schedule* schedule, Reduction reduction,
             arena::ElementCodec codec = arena::ElementCodec::identity);
    /// Waits until all operations in flight have moved, including those that the caller never
    /// finishes, for example because the run ended early: their rows must still exist. Does not
    /// wait during stack unwinding; nothing can be exchanged in this World afterwards.
    ~Exchange();

    /// Starts out = W x for `columns`. Sends remote rows at once, straight from x: the caller must
    /// not write x in `columns` before the finish call. All ranks start the same exchanges in the
    /// same order; any number may be in flight. Groups of the round are averaged by an all-reduce
    /// along the fixed tree.
    ///
    /// With RowLifetime::until_reclaimed and x in peer_readable_memory(), ranks of the same host
    /// read the rows in place and nothing is copied. `out` must then be other rows than x, and x
    /// must not be written before `reclaim`.
    Token start_mix(graphs::Round round, arena::Rows x, arena::Columns columns,
                    RowLifetime lifetime = RowLifetime::until_finish);
    /// Waits for the exchange and writes W x to `out`. `out` may be x, unless rows are read in
    /// place.
    void finish_mix(const Token& token, arena::Rows out);
    /// Writes `out` in pieces that fit in a cache. Calls `then` with the columns of each piece once
    /// `out` holds them.
    void finish_mix(const Token& token, arena::Rows out,
                    const std::function<void(arena::Columns)>& then);
    /// Finishes without writing W x: passes to `use` the terms (rows and weights, as for
    /// arena::weighted_means) of which each local row of W x is the mean, after all rows have
    /// arrived. `use` reads the rows itself.
    ///
    /// Returns false, and does not finish the exchange, if (a) the mean of a group must be computed
    /// on this rank, (b) rows are computed on a queue, (c) rows travel in 16 bits, or (d) `use`
    /// returns false. The caller must then call another finish function.
    using UseTerms = std::function<bool(std::span<const std::vector<arena::Term>>)>;
    bool finish_mix(const Token& token, const UseTerms& use);
    /// Waits until no rank reads the rows in place any more: the caller may then write them. To be
    /// called after the finish call, in the same order on all ranks. Returns at once if the rows
    /// were not read in place.
    void reclaim(const Token& token);
    /// Lets the ranks of this host share memory. Call it before rows are allocated. Afterwards
    /// exchanges may read rows in place. The first call is collective; later ones do nothing.
    void share_host_memory();
    /// Returns the memory that ranks of this host can read in place; null if there is none. Call
    /// share_host_memory() before.
    arena::Memory peer_readable_memory() const;
    /// Returns how rows with RowLifetime::until_reclaimed reach the other ranks of this host: "in
    /// place", or "as messages" with the reason; "" if this host has one rank. Call
    /// share_host_memory() before.
    std::string rows_on_host() const;
    /// Finishes with out = (W - I) x, in other rows than x. Differences between neighbours are
    /// rounded relative to their own size, so sums of them over time preserve the mean over
    /// replicas. Groups are an exception: their mean is rounded as a whole.
    void finish_change(const Token& token, arena::Rows out);

    /// Returns W restricted to this rank's rows, for a pass that averages them and does more. Null
    /// unless the round needs no rows of other ranks, rows are computed on a queue, and no codec is
    /// set. The caller uses it instead of finish_mix and drops the token of a start_mix it has
    /// already called.
    std::shared_ptr<const arena::LocalMeans> local_averaging(graphs::Round round) const;

    /// Computes out = W x and blocks until it is done. Exchanges tile after tile of columns, so
    /// that scratch memory remains small at any degree.
    void mix(graphs::Round round, arena::Rows x, arena::Columns columns, arena::Rows out);

    /// Starts to send opaque messages: the first `bytes` bytes of each local row of `messages`, to
    /// all replicas that use the row's replica in the round. The caller must not change them before
    /// it drops the token. Counts as an exchange in the common order of all exchanges.
    Token start_messages(graphs::Round round, arena::Rows messages, int64_t bytes,
                         MessageWriter writer = MessageWriter::host);
    /// Starts to send a separate message over each link: a row holds one message of `bytes` bytes
    /// for each user of the replica except itself, in the order of Schedule::out.
    Token start_link_messages(graphs::Round round, arena::Rows messages, int64_t bytes,
                              MessageWriter writer = MessageWriter::host);
    /// Returns the messages that each local replica uses: first its own if it has a weight (never
    /// with start_link_messages), then those of its neighbours in the order of replicas. The
    /// pointers remain valid until the caller drops the token. With MessageWriter::host the
    /// contents are there on return; with MessageWriter::queue, launches on the compute queue will
    /// find them.
    std::vector<std::vector<UsedMessage>> finish_messages(const Token& token);

    /// Starts to replace every row of x by the mean over all n replicas' rows, for `columns`, in
    /// place. The caller must not touch x in `columns` before the finish call. The result has the
    /// same bits on all replicas. With RowLifetime::until_reclaimed, x may be read but not written
    /// between finish and `reclaim`.
    Token start_all_reduce(arena::Rows x, arena::Columns columns,
                           RowLifetime lifetime = RowLifetime::until_finish);
    /// Waits for the all-reduce; x then holds the mean.
    void finish_all_reduce(const Token& token);

    /// Returns the gradient bucket in which the exchange's columns begin, for the trace; -1 if the
    /// exchange is not traced.
    static int64_t traced_bucket(const Token& token);
    /// Returns true if the exchange has moved all its messages. Never blocks; moves other
    /// operations along as well.
    bool poll(const Token& token);

    /// Waits until all operations in flight have moved. They must still be finished as usual.
    void drain();
    /// Ensures that launches from now on see all operations in flight as moved. If the transport
    /// has a queue, only queues wait, and the host does not; else as `drain`.
    void drain_for_step();

    /// Returns the exact second moments over replicas. Collective. `mean` (null on all ranks or on
    /// none): float64 row [P] that receives the mean over all replicas on every rank.
    SecondMoments moments(arena::Rows x, double* mean);
    /// Starts the same computation, but does not return the mean. The result's m2 is valid after
    /// the launches that are now on the compute queue. The host waits for a device only if MPI
    /// carries the rows.
    DeferredMoments deferred_moments(arena::Rows x);

    /// Returns the bytes of receive buffers that start_mix of this round over all columns needs on
    /// this rank.
    int64_t receive_bytes(graphs::Round round, arena::DType type = arena::DType::float32) const;

    /// Returns the place where this rank computes. Exchanges read rows after the launches on its
    /// compute queue and return results to that queue. The host waits only for rows that must be
    /// complete before they are sent, and not even for these if the transport has a queue
    /// (transport/row_transport.hpp).
    const arena::Place& place() const;

    struct Impl;

private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::comm
