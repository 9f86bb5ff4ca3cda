#pragma once
// What training asks of communication: mixing X <- W X, all-reduce, and moments over replicas, on
// rows of any split over ranks.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "arena/device/memory.hpp"
#include "arena/layout.hpp"
#include "arena/messages/codec.hpp"
#include "arena/rows.hpp"
#include "arena/tree.hpp"
#include "arena/updates/update_and_mix.hpp"
#include "comm/placement.hpp"
#include "comm/plans/cost.hpp"
#include "comm/world/world.hpp"
#include "graphs/schedule.hpp"

namespace dbench::comm {

enum class Reduction : uint8_t { reproducible, library };  ///< fixed tree, or MPI's own
/// Until when rows that are exchanged stay as they are.
enum class Stay : uint8_t { until_finish, until_reclaimed };

/// Who writes messages that are no rows, and reads what is heard: the host, or launches on the
/// compute queue, behind which they leave.
enum class Made : uint8_t { by_host, on_queue };

/// An exchange in flight. Completed by the matching finish call.
class Pending;
using Token = std::shared_ptr<Pending>;

/// A message that a replica uses: its own, or that of a neighbour j, with W_ij.
struct Heard {
    int64_t replica;
    double weight;
    const char* message;
};

/// Second moments of a set of rows over all replicas.
struct Spread {
    std::vector<double> m2;  ///< per tensor [T]: sum_i ||x_i,t - mean_t||^2, on every rank
    uint64_t bytes = 0;      ///< what this rank sent for it
};

/// The same, where a device may still be computing it.
struct LateSpread {
    std::shared_ptr<const arena::Values<double>>
        m2;  ///< per segment [S], as of `Spread` per tensor
    uint64_t bytes = 0;
};

class Exchange {
public:
    /// `schedule` may be null (centralized). What mixing and all-reduce send travels in `codec`;
    /// moments are exact all the same. Collective. Keeps references to all.
    Exchange(World& world, const Placement& placement, const arena::Layout& layout,
             const graphs::Schedule* schedule, Reduction reduction,
             arena::Codec codec = arena::Codec::identity);
    /// Waits until all that is in flight has moved, also what nobody will use (a run has ended
    /// before it came to that): its rows must still be there. Not with an error on its way: nothing
    /// can be exchanged in this World any more after that.
    ~Exchange();

    /// out = W x for `columns`. Remote rows start moving at once, straight from x, which must not
    /// be written in `columns` before the finish. All ranks start the same exchanges in the same
    /// order; any number may be in flight. Groups of the round go as all-reduces along the tree.
    ///
    /// Rows that stay until they are reclaimed, and lie in `readable` memory, are read in place by
    /// ranks of the same host: nothing is copied; `out` is then other rows.
    Token start_mix(graphs::Round round, arena::Rows x, arena::Columns columns,
                    Stay stay = Stay::until_finish);
    void finish_mix(const Token& token, arena::Rows out);  ///< out may be x
    /// In pieces that a cache can hold: `then` is called with the columns of each, once `out` has
    /// them.
    void finish_mix(const Token& token, arena::Rows out,
                    const std::function<void(arena::Columns)>& then);
    /// Without out: use(terms) is told, as arena::weighted_means takes it, what each local row of
    /// W x is the mean of, once all of that is there, and reads it itself. False, where the mean of
    /// a group is made here, rows are computed on a queue or travel in 16 bits, or use() is: then
    /// it is yet to be finished.
    using UseTerms = std::function<bool(std::span<const std::vector<arena::Term>>)>;
    bool finish_mix(const Token& token, const UseTerms& use);
    /// Waits until nobody reads the rows any more: they may be written. After the finish, in an
    /// order that is the same on all ranks; not waited for where the rows did not have to stay.
    void reclaim(const Token& token);
    /// Memory that ranks of this host read in place; null where none does. Collective at first.
    arena::Memory readable() const;
    /// How rows that stay reach the other ranks of this host: "in place", or "as messages" and why;
    /// "" where there are none.
    std::string rows_on_host() const;
    /// The other way to finish: out = (W - I) x, other rows than x. What neighbours differ by is
    /// rounded to its own size, so that sums of it over time keep the mean over replicas (but for
    /// groups, whose mean is rounded as a whole).
    void finish_change(const Token& token, arena::Rows out);

    /// W over this rank's rows, where a round takes no others and they are computed on a queue and
    /// travel as they are: for a pass that averages them and does more. It takes the place of
    /// finish_mix; what was started is let go. Null elsewhere.
    std::shared_ptr<const arena::LocalMeans> means_here(graphs::Round round) const;

    /// The blocking form: tiled by columns, so that scratch stays small whatever the degree.
    void mix(graphs::Round round, arena::Rows x, arena::Columns columns, arena::Rows out);

    /// Messages that are no rows: the first `bytes` bytes of each local replica's go to all who use
    /// them in the round, and must stay as they are until the token goes. In the order of all other
    /// exchanges.
    Token start_messages(graphs::Round round, arena::Rows messages, int64_t bytes,
                         Made made = Made::by_host);
    /// The same with a message for each link: a row begins with one for each who uses the replica,
    /// itself left out, in the order of Schedule::out, `bytes` bytes each.
    Token start_link_messages(graphs::Round round, arena::Rows messages, int64_t bytes,
                              Made made = Made::by_host);
    /// What each local replica has heard: by W's row, itself first where it has a weight (and not
    /// at all where links have messages), then by replica. What is pointed to stays until the token
    /// goes; it is there, or will be for what is launched on the compute queue, by whom it was
    /// made.
    std::vector<std::vector<Heard>> finish_messages(const Token& token);

    /// Every row of x becomes the mean over all n replicas' rows, for `columns`, in place; x must
    /// not be touched in `columns` before the finish. Bit-identical on all replicas.
    /// Rows that stay may be read, but not written, between finish and `reclaim`.
    Token start_all_reduce(arena::Rows x, arena::Columns columns, Stay stay = Stay::until_finish);
    void finish_all_reduce(const Token& token);

    /// Whether the exchange has finished moving; never blocks. Also moves others along.
    bool poll(const Token& token);

    /// Waits until all that is in flight has moved; it is finished as ever.
    void settle();
    /// The same for what is computed from now on: where queues order it behind what is in flight,
    /// the host does not wait.
    void settle_for_step();

    /// Exact moments over replicas. Collective. `mean` (may be null, on all ranks alike): float64
    /// row [P] that receives the mean over all replicas, on every rank.
    Spread moments(arena::Rows x, double* mean);
    /// The same without a mean; m2 is there when the compute queue has come so far. Nobody waits
    /// for a device but ranks whose rows MPI carries.
    LateSpread late_moments(arena::Rows x);

    /// Bytes of receive buffers that a mix of this round needs on this rank (start_mix over all
    /// columns).
    int64_t receive_bytes(graphs::Round round, arena::DType type = arena::DType::float32) const;

    /// Where this rank computes: what is exchanged is taken from `compute` and comes back there.
    /// The host waits only for what is sent, on a transport with a queue (row_plane.hpp) not even
    /// so.
    const arena::Queues& queues() const;

    struct Impl;

private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::comm
