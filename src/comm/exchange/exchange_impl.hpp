#pragma once
// What an Exchange is made of, for this room.

#include <memory>

#include "comm/exchange/exchange.hpp"
#include "comm/exchange/operation.hpp"
#include "comm/host/host_memory.hpp"
#include "comm/plans/delivery_plan.hpp"
#include "comm/plans/plan_cache.hpp"
#include "comm/scratch.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm {

struct Exchange::Impl {
    World& owner;
    World::Impl& world;
    Placement placement;
    const arena::Layout& layout;
    const graphs::Schedule* schedule;
    Reduction reduction;
    arena::Codec codec;
    std::shared_ptr<ScratchPool> pool;          ///< what moves is put there
    std::shared_ptr<ScratchPool> reached_pool;  ///< the same where the host reaches it
    /// Memory that the ranks of this host share. Created by the first call of host_memory().
    std::shared_ptr<HostMemory> shared_memory;
    std::unique_ptr<ScratchPool> host_pool;  ///< Scratch in `shared_memory`.
    std::shared_ptr<const MixingPlan> mean_plan;
    PlanCache<MixingPlan> repeating, others;
    PlanCache<arena::LocalMeans> means;  ///< of plans that are all local
    PlanCache<DeliveryPlan> to_all, to_each;
    std::vector<std::shared_ptr<Operation>> lent;  ///< whose rows are yet to be reclaimed

    Impl(World& world, const Placement& placement, const arena::Layout& layout,
         const graphs::Schedule* schedule, Reduction reduction, arena::Codec codec);

    Contribution contribution() const {
        return codec == arena::Codec::identity ? Contribution::subtrees : Contribution::rows;
    }
    bool coded() const { return codec != arena::Codec::identity; }
    const arena::Queues& queues() const { return world.member.queues; }
    /// Returns `shared_memory`, and creates it first if there is none. The first call is
    /// collective.
    const std::shared_ptr<HostMemory>& host_memory();
    std::shared_ptr<const MixingPlan> plan(graphs::Round round);
    std::shared_ptr<Operation> start(std::shared_ptr<const MixingPlan> plan, arena::Rows x,
                                     arena::Columns columns, bool in_place,
                                     Stay stay = Stay::until_finish);
    void finish(Operation& operation, arena::Rows out,
                Operation::Result result = Operation::Result::average,
                const Operation::Then& then = nullptr);
    bool finish(Operation& operation, const Exchange::UseTerms& use);
    void reclaim(Operation& operation);
    Token deliver(graphs::Round round, arena::Rows messages, int64_t bytes, Addressed addressed,
                  Made made);
    std::vector<std::shared_ptr<Pending>> in_flight();
};

}  // namespace dbench::comm
