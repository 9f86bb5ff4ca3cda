#include "comm/exchange/exchange.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "arena/device/memory.hpp"
#include "base/log.hpp"
#include "comm/exchange/delivery.hpp"
#include "comm/exchange/exchange_impl.hpp"
#include "comm/exchange/movement.hpp"

namespace dbench::comm {
namespace {

constexpr size_t kRepeatingPlans = 256, kOtherPlans = 8;
/// Bytes of rows that may come without anybody waiting for them.
constexpr int64_t kUnderWay = int64_t{1} << 30;
/// Columns per message of a blocking exchange, the same on all ranks: so few that the received rows
/// of a tile are at most kTileScratch elements, but enough for full bandwidth.
int64_t tile_columns(const Placement& placement) {
    constexpr int64_t kTileScratch = int64_t{1} << 22, kLeast = 65536, kMost = int64_t{1} << 20;
    const int64_t received = placement.replicas - placement.replicas / placement.ranks;
    return std::clamp(kTileScratch / std::max<int64_t>(received, 1), kLeast, kMost) /
           arena::kColumnAlignment * arena::kColumnAlignment;
}

}  // namespace

Exchange::Impl::Impl(World& world, const Placement& placement, const arena::Layout& layout,
                     const graphs::Schedule* schedule, Reduction reduction, arena::Codec codec)
    : owner(world),
      world(world.impl()),
      placement(placement),
      layout(layout),
      schedule(schedule),
      reduction(reduction),
      codec(codec),
      mean_plan(std::make_shared<const MixingPlan>(
          make_mean_plan(placement, world.rank(), contribution()))),
      repeating(kRepeatingPlans),
      others(kOtherPlans),
      means(kRepeatingPlans),
      to_all(kRepeatingPlans),
      to_each(kRepeatingPlans) {
    pool = reached_pool = std::make_shared<ScratchPool>();
    if (queues().compute) {
        reached_pool = std::make_shared<ScratchPool>(arena::reached_memory());
        if (!this->world.rows().reads_devices()) pool = reached_pool;
    }
    DBENCH_EXPECT(placement.ranks == world.size() && placement.replicas >= placement.ranks);
    DBENCH_EXPECT(!schedule || schedule->size() == placement.replicas);
}

std::shared_ptr<const MixingPlan> Exchange::Impl::plan(graphs::Round round) {
    auto& cache = round.repeats ? repeating : others;
    return cache.get(round.matrix, [&] {
        return make_mixing_plan(*schedule, round, placement, world.rank(), contribution());
    });
}

std::shared_ptr<Operation> Exchange::Impl::start(std::shared_ptr<const MixingPlan> plan,
                                                 arena::Rows x, arena::Columns columns,
                                                 bool in_place, Stay stay) {
    DBENCH_EXPECT(x.first == placement.begin(world.rank()));
    DBENCH_EXPECT(x.count == placement.count(world.rank()));
    DBENCH_EXPECT(queues().compute || x.space == arena::Space::host);
    const bool all = plan->groups.size() == 1 && plan->groups[0].members == placement.replicas;
    HostMemory* const memory = queues().compute ? nullptr : shared_memory.get();
    // Rows in 16 bits have to be written somewhere anyhow.
    const bool readable = memory && memory->shared() && (coded() || memory->holds(x.data));
    const bool stays = stay == Stay::until_reclaimed && readable && columns.count() > 0;
    // A sum of two has one order, so that a library may choose nothing, and would move rows.
    const bool of_two = stays && placement.replicas == 2;
    const bool by_library = all && reduction == Reduction::library && !coded() && !of_two;
    Operation::Options options{in_place, by_library, codec};
    options.queues = queues();
    if (stays && !by_library) {
        if (const auto number = memory->next()) {
            if (!host_pool) {
                host_pool = std::make_unique<ScratchPool>(
                    [memory](int64_t bytes) { return memory->allocate(bytes); });
            }
            options.host =
                std::make_shared<InPlace>(*memory, *host_pool, *number, *plan, world.rank());
        }
    }
    const auto& taken = by_library && !world.rows().queue() ? reached_pool : pool;
    auto operation = std::make_shared<Operation>(world.rows(), taken, std::move(plan), x, columns,
                                                 world.next_exchange(), options);
    if (options.host) lent.push_back(operation);
    const bool arithmetic = operation->begin();
    if (operation->moves()) {
        world.engine.start(operation, !arithmetic && !operation->ordered());
    } else {
        world.engine.test(*operation);  // nothing to look after: done, or there when others are
    }
    return operation;
}

void Exchange::Impl::finish(Operation& operation, arena::Rows out, Operation::Result result,
                            const Operation::Then& then) {
    if (operation.ordered()) {
        world.engine.expect_well();
    } else {
        world.wait("an exchange of parameters", operation);
    }
    // So many columns of all rows as a second cache holds, with what they are computed from.
    const bool in_pieces = then && !queues().compute;
    constexpr int64_t kElements = 1 << 15;
    const arena::Columns columns = operation.columns();
    const int64_t width = std::max(arena::kBlock, kElements / std::max<int64_t>(out.count, 1));
    operation.finish(out, result, in_pieces ? layout.tiles(columns, width) : std::vector{columns},
                     then);
}

bool Exchange::Impl::finish(Operation& operation, const UseTerms& use) {
    if (queues().compute || coded()) return false;
    world.wait("an exchange of parameters", operation);
    return operation.finish(use);
}

void Exchange::Impl::reclaim(Operation& operation) {
    InPlace* const host = operation.host();
    if (!host) return;
    world.wait(
        "the reading of rows by the ranks of this host", [&] { return host->free(); },
        [&] { return host->readers_owing(); });
    host->give_back();
    std::erase_if(lent, [&](const auto& other) { return other.get() == &operation; });
}

Exchange::Exchange(World& world, const Placement& placement, const arena::Layout& layout,
                   const graphs::Schedule* schedule, Reduction reduction, arena::Codec codec)
    : impl_(std::make_unique<Impl>(world, placement, layout, schedule, reduction, codec)) {}

Exchange::~Exchange() {
    const auto unless_failed = [&](auto&& work) {
        if (std::uncaught_exceptions() > 0 || impl_->world.failed) return;
        try {
            work();
        } catch (const std::exception& error) {
            base::warn(error.what());
        }
    };
    unless_failed([&] { settle(); });  // rows may still move, also such as nobody will use
    if (!impl_->in_flight().empty()) impl_->world.engine.halt();
    unless_failed([&] {  // others may still read them
        while (!impl_->lent.empty()) impl_->reclaim(*std::shared_ptr(impl_->lent.front()));
    });
}

std::vector<std::shared_ptr<Pending>> Exchange::Impl::in_flight() {
    auto pending = world.engine.in_flight();  // collections may be, too
    std::erase_if(pending, [](const auto& each) {
        return !dynamic_cast<const Operation*>(each.get()) &&
               !dynamic_cast<const Delivery*>(each.get()) &&
               !dynamic_cast<const Movement*>(each.get());
    });
    return pending;
}

const std::shared_ptr<HostMemory>& Exchange::Impl::host_memory() {
    if (!shared_memory) shared_memory = std::make_shared<HostMemory>(owner);
    return shared_memory;
}

const arena::Queues& Exchange::queues() const { return impl_->queues(); }

arena::Memory Exchange::readable() const {
    if (queues().compute) return nullptr;  // what a device has, no other rank reads
    const std::shared_ptr<HostMemory>& memory = impl_->host_memory();
    if (!memory->shared()) return nullptr;
    return [memory](int64_t bytes) { return memory->allocate(bytes); };
}

std::string Exchange::rows_on_host() const {
    if (queues().compute) {
        return impl_->world.member.local_size > 1 ? "as messages (they lie on cards)" : "";
    }
    return impl_->host_memory()->status();
}

Token Exchange::start_mix(graphs::Round round, arena::Rows x, arena::Columns columns, Stay stay) {
    return impl_->start(impl_->plan(round), x, columns, false, stay);
}

void Exchange::finish_mix(const Token& token, arena::Rows out,
                          const std::function<void(arena::Columns)>& then) {
    impl_->finish(static_cast<Operation&>(*token), out, Operation::Result::average, then);
}

bool Exchange::finish_mix(const Token& token, const UseTerms& use) {
    return impl_->finish(static_cast<Operation&>(*token), use);
}

void Exchange::reclaim(const Token& token) { impl_->reclaim(static_cast<Operation&>(*token)); }

void Exchange::finish_mix(const Token& token, arena::Rows out) {
    impl_->finish(static_cast<Operation&>(*token), out);
}

void Exchange::finish_change(const Token& token, arena::Rows out) {
    auto& operation = static_cast<Operation&>(*token);
    DBENCH_EXPECT(out.data != operation.rows().data);
    impl_->finish(operation, out, Operation::Result::change);
}

std::shared_ptr<const arena::LocalMeans> Exchange::means_here(graphs::Round round) const {
    if (!queues().compute || impl_->coded()) return nullptr;
    const auto plan = impl_->plan(round);
    if (!plan->local()) return nullptr;
    return impl_->means.get(round.matrix, [&] { return local_means(*plan); });
}

void Exchange::mix(graphs::Round round, arena::Rows x, arena::Columns columns, arena::Rows out) {
    const auto plan = impl_->plan(round);
    const int64_t width = tile_columns(impl_->placement);
    const int64_t tiles = (columns.count() + width - 1) / width;
    if (plan->local()) {  // nothing to wait for: one pass; the numbers are the other ranks', too
        const auto operation = impl_->start(plan, x, columns, false);
        impl_->world.exchanges += static_cast<uint64_t>(std::max<int64_t>(tiles, 1) - 1);
        return impl_->finish(*operation, out);
    }
    const auto start = [&](int64_t tile) {
        const int64_t begin = columns.begin + tile * width;
        return impl_->start(plan, x, {begin, std::min(begin + width, columns.end)}, false);
    };
    const Engine::Waiting waiting(impl_->world.engine);
    auto operation = start(0);
    // Where queues order it all, nobody has to wait, if there is memory for what may be under way.
    const bool one_by_one =
        tiles > 1 && !(operation->ordered() && receive_bytes(round, x.type) <= kUnderWay);
    for (int64_t tile = 0; tile < tiles; ++tile) {  // the next tile moves while this one is added
        auto next = tile + 1 < tiles ? start(tile + 1) : nullptr;
        if (one_by_one) impl_->world.wait("an exchange of parameters", *operation);
        impl_->finish(*operation, out);
        operation = std::move(next);
    }
}

Token Exchange::start_all_reduce(arena::Rows x, arena::Columns columns, Stay stay) {
    return impl_->start(impl_->mean_plan, x, columns, true, stay);
}

void Exchange::finish_all_reduce(const Token& token) {
    auto& operation = static_cast<Operation&>(*token);
    impl_->finish(operation, operation.rows());
}

Token Exchange::Impl::deliver(graphs::Round round, arena::Rows messages, int64_t bytes,
                              Addressed addressed, Made made) {
    auto& cache = addressed == Addressed::to_all ? to_all : to_each;
    const auto plan = cache.get(round.matrix, [&] {
        return make_delivery_plan(*schedule, round, placement, world.rank(), addressed);
    });
    arena::Queue* const queue = made == Made::on_queue ? queues().compute : nullptr;
    DBENCH_EXPECT(made == Made::on_queue || messages.space == arena::Space::host);
    const auto& taken = made == Made::by_host ? reached_pool : pool;
    auto delivery = std::make_shared<Delivery>(world.rows(), taken, plan, messages, bytes, queue);
    delivery->begin(world.next_exchange());
    if (delivery->moves()) {
        world.engine.start(delivery, true);
    } else {
        world.engine.test(*delivery);
    }
    return delivery;
}

Token Exchange::start_messages(graphs::Round round, arena::Rows messages, int64_t bytes,
                               Made made) {
    return impl_->deliver(round, messages, bytes, Addressed::to_all, made);
}

Token Exchange::start_link_messages(graphs::Round round, arena::Rows messages, int64_t bytes,
                                    Made made) {
    return impl_->deliver(round, messages, bytes, Addressed::to_each, made);
}

std::vector<std::vector<Heard>> Exchange::finish_messages(const Token& token) {
    const auto& delivery = static_cast<const Delivery&>(*token);
    if (delivery.ordered()) {
        delivery.order_behind();
        impl_->world.engine.expect_well();
    } else {
        impl_->world.wait("an exchange of messages", *token);
    }
    return delivery.heard();
}

bool Exchange::poll(const Token& token) { return impl_->world.engine.test(*token); }

void Exchange::settle() {
    for (const auto& operation : impl_->in_flight()) {
        impl_->world.wait("an exchange of parameters", *operation);
    }
    for (const auto& operation : impl_->lent) {  // what nobody moves is waited for all the same
        impl_->world.wait("an exchange of parameters", *operation);
    }
}

void Exchange::settle_for_step() {
    arena::Queue* const compute = queues().compute;
    arena::Queue* const transport = compute ? impl_->world.rows().queue() : nullptr;
    if (!transport) return settle();
    arena::order(transport, compute, "what moves before it is measured");
    impl_->world.engine.expect_well();
}

int64_t Exchange::receive_bytes(graphs::Round round, arena::DType type) const {
    const auto plan = impl_->plan(round);
    const bool coded = impl_->coded();
    int64_t rows = 0, travelling = plan->slots + (coded ? plan->rows_sent : 0);
    for (const GroupPlan& group : plan->groups) {
        if (group.local()) continue;
        int64_t nodes = 0;
        for (const auto& part : group.parts) nodes += static_cast<int64_t>(part.nodes.size());
        const auto parts = static_cast<int64_t>(group.parts.size());
        const auto mine = static_cast<int64_t>(group.parts[group.me].nodes.size());
        const int64_t chunks = (nodes + parts - 1) / parts;
        // The mean, this rank's subtrees, and a chunk of everybody's.
        rows += 1 + (group.adds_first() ? mine : 0);
        travelling += chunks + (coded ? mine : 0);
    }
    return impl_->layout.columns() *
           (rows * arena::size_of(type) + travelling * arena::size_of(impl_->codec, type));
}

}  // namespace dbench::comm
