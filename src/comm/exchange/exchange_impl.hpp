#pragma once  // Private to comm/exchange.
// The data members of Exchange, for the sources of this folder.

#include <memory>

#include "comm/exchange/exchange.hpp"
#include "comm/host/host_memory.hpp"
#include "comm/host/in_place_exchange.hpp"
#include "comm/mixing/choose_routes.hpp"
#include "comm/mixing/mixing_operation.hpp"
#include "comm/plans/delivery_plan.hpp"
#include "comm/plans/plan_cache.hpp"
#include "comm/scratch.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm {

/// The state of an Exchange, and the functions that its public calls share.
struct Exchange::Impl {
    World& world;
    World::Impl& world_impl;  ///< The state of `world`.
    Placement placement;
    const arena::Layout& layout;
    const graphs::Schedule* schedule;
    Reduction reduction;
    arena::ElementCodec codec;
    std::shared_ptr<ScratchPool> pool;  ///< Memory for messages of the row transport.
    /// Memory for messages that the host must be able to read and write.
    std::shared_ptr<ScratchPool> host_visible_pool;
    /// Memory that the ranks of this host share. Null before share_host_memory(), and if rows are
    /// in GPU memory, which other ranks cannot read.
    std::shared_ptr<HostMemory> shared_memory;
    std::unique_ptr<ScratchPool> host_pool;  ///< Scratch in `shared_memory`.
    /// The plan of all-reduces over all replicas.
    std::shared_ptr<const MixingPlan> mean_plan;
    /// Plans of rounds that repeat, and of rounds that do not.
    PlanCache<MixingPlan> repeating, others;
    PlanCache<arena::LocalMeans> means;  ///< Averagings within this rank, by matrix.
    /// Plans of opaque messages.
    PlanCache<DeliveryPlan> to_all, to_each;
    /// Operations whose rows other ranks may still read in place.
    std::vector<std::shared_ptr<MixingOperation>> unreclaimed;

    Impl(World& world, const Placement& placement, const arena::Layout& layout,
         const graphs::Schedule* schedule, Reduction reduction, arena::ElementCodec codec);

    /// Returns the form in which ranks contribute to groups; depends on the codec.
    Contribution contribution() const {
        return codec == arena::ElementCodec::identity ? Contribution::subtrees : Contribution::rows;
    }
    bool coded() const { return codec != arena::ElementCodec::identity; }
    const arena::Place& place() const { return world_impl.member.place; }
    /// Returns the plan of the round, from a cache if possible.
    std::shared_ptr<const MixingPlan> plan(graphs::Round round);
    /// Returns the facts that decide about the routes of an exchange, see choose_routes.hpp.
    RouteFacts route_facts(const arena::Rows& x, arena::Columns columns, bool all_reduce,
                           RowLifetime lifetime) const;
    /// Chooses the routes of an exchange, makes its operation, begins it and hands it to the engine
    /// if it needs to be polled. `all_reduce`: the mean may be written into x before the finish.
    std::shared_ptr<MixingOperation> start(std::shared_ptr<const MixingPlan> plan, arena::Rows x,
                                           arena::Columns columns, bool all_reduce,
                                           RowLifetime lifetime = RowLifetime::until_finish);
    /// Prepares reads in place under this number of the host's shared memory.
    std::shared_ptr<InPlaceExchange> share_rows(uint64_t number, const Routes& routes);
    /// Waits for the operation and finishes it; in pieces of columns if `then` is set and the host
    /// computes.
    void finish(MixingOperation& operation, arena::Rows out,
                MixingOperation::Result result = MixingOperation::Result::average,
                const MixingOperation::Then& then = nullptr);
    /// See Exchange::finish_mix with UseTerms.
    bool finish(MixingOperation& operation, const Exchange::UseTerms& use);
    /// Waits until all ranks of this host have read the operation's rows.
    void reclaim(MixingOperation& operation);
    /// Starts the opaque messages of a round.
    Token start_delivery(graphs::Round round, arena::Rows messages, int64_t bytes,
                         Addressing addressing, MessageWriter writer);
    /// Returns the exchanges in the engine's list (not its collectives).
    std::vector<std::shared_ptr<OperationInFlight>> in_flight();
};

}  // namespace dbench::comm
