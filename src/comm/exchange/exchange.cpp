// The public calls of Exchange: they look up plans, make operations, hand them to the engine and
// wait for them.

#include "comm/exchange/exchange.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "comm/exchange/delivery_operation.hpp"
#include "comm/exchange/exchange_impl.hpp"
#include "comm/exchange/receive_bytes.hpp"
#include "comm/exchange/trace_exchange.hpp"
#include "comm/exchange/transfer_operation.hpp"
#include "comm/mixing/choose_routes.hpp"
#include "comm/mixing/mixing_context.hpp"

namespace dbench::comm {
namespace {

/// Plans in the caches: of rounds that repeat, and of rounds that do not.
constexpr size_t kRepeatingPlans = 256, kOtherPlans = 8;
/// Upper bound on the bytes of received rows that may be in flight without a wait.
constexpr int64_t kMaxBytesInFlight = int64_t{1} << 30;
/// Columns per message of a blocking exchange, the same on all ranks: few enough that the received
/// rows of a tile have at most kTileScratch elements, but enough for full bandwidth.
int64_t tile_columns(const Placement& placement) {
    constexpr int64_t kTileScratch = int64_t{1} << 22, kLeast = 65536, kMost = int64_t{1} << 20;
    const int64_t received = placement.replicas - placement.replicas / placement.ranks;
    return std::clamp(kTileScratch / std::max<int64_t>(received, 1), kLeast, kMost) /
           arena::kColumnAlignment * arena::kColumnAlignment;
}

// Begins an operation. If this fails, the operation is kept: launches before the failure still use
// its memory.
template <class Begin>
auto begin_or_keep(const std::shared_ptr<OperationInFlight>& operation, const Begin& begin) {
    try {
        return begin();
    } catch (...) {
        Engine::keep_until_exit(operation);
        throw;
    }
}

}  // namespace

Exchange::Impl::Impl(World& world, const Placement& placement, const arena::Layout& layout,
                     const graphs::Schedule* schedule, Reduction reduction,
                     arena::ElementCodec codec)
    : world(world),
      world_impl(world.impl()),
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
    pool = host_visible_pool = std::make_shared<ScratchPool>(place().memories());
    if (!place().immediate()) {
        host_visible_pool = std::make_shared<ScratchPool>(place().memories().host_visible_memory());
        if (!world_impl.rows().reads_devices()) pool = host_visible_pool;
    }
    DBENCH_EXPECT(placement.ranks == world.size() && placement.replicas >= placement.ranks);
    DBENCH_EXPECT(!schedule || schedule->size() == placement.replicas);
}

std::shared_ptr<const MixingPlan> Exchange::Impl::plan(graphs::Round round) {
    auto& cache = round.repeats ? repeating : others;
    return cache.get(round.matrix, [&] {
        return make_mixing_plan(*schedule, round, placement, world_impl.rank(), contribution());
    });
}

RouteFacts Exchange::Impl::route_facts(const arena::Rows& x, arena::Columns columns,
                                       bool all_reduce, RowLifetime lifetime) const {
    RouteFacts facts{.replicas = placement.replicas,
                     .library_sums = reduction == Reduction::library,
                     .coded = coded(),
                     .all_reduce = all_reduce,
                     .on_device = x.space == arena::Space::device,
                     .empty = columns.count() == 0,
                     .until_reclaimed = lifetime == RowLifetime::until_reclaimed,
                     .transport_has_queue = world_impl.rows().queue() != nullptr,
                     .transport_reads_devices = world_impl.rows().reads_devices()};
    if (place().immediate() && shared_memory && shared_memory->shared()) {
        // With a codec, x need not be in shared memory: the encoded rows are.
        facts.peer_readable = coded() || shared_memory->holds(x.data);
        facts.shares_memory = [this](int rank) { return shared_memory->shares_with(rank); };
        if (!shared_memory->hosts().empty()) facts.hosts = &shared_memory->hosts();
    }
    return facts;
}

std::shared_ptr<MixingOperation> Exchange::Impl::start(std::shared_ptr<const MixingPlan> plan,
                                                       arena::Rows x, arena::Columns columns,
                                                       bool all_reduce, RowLifetime lifetime) {
    DBENCH_EXPECT(x.first == placement.begin(world_impl.rank()));
    DBENCH_EXPECT(x.count == placement.count(world_impl.rank()));
    DBENCH_EXPECT(!place().immediate() || x.space == arena::Space::host);
    RouteFacts facts = route_facts(x, columns, all_reduce, lifetime);
    Routes routes = choose_routes(*plan, facts);
    std::shared_ptr<InPlaceExchange> in_place;
    if (routes.in_place) {
        if (const auto number = shared_memory->next()) {
            in_place = share_rows(*number, routes);
        } else {
            facts.has_number = false;
            routes = choose_routes(*plan, facts);
        }
    }
    auto trace = trace_mixing({world_impl.exchanges, world_impl.rank(), world_impl.size()}, *plan,
                              routes, columns, arena::size_of(codec, x.type));
    const auto& scratch =
        routes.by_library() && !world_impl.rows().queue() ? host_visible_pool : pool;
    auto operation =
        std::make_shared<MixingOperation>(MixingContext{.transport = world_impl.rows(),
                                                        .pool = scratch,
                                                        .plan = std::move(plan),
                                                        .routes = std::move(routes),
                                                        .x = x,
                                                        .columns = columns,
                                                        .tag = world_impl.next_exchange(),
                                                        .all_reduce = all_reduce,
                                                        .codec = codec,
                                                        .in_place = in_place,
                                                        .place = place()});
    if (in_place) unreclaimed.push_back(operation);
    const bool arithmetic_remains = begin_or_keep(operation, [&] { return operation->begin(); });
    if (trace) trace->polled = operation->moves();
    operation->trace = std::move(trace);
    if (operation->moves()) {
        // The caller may be inside backward, which goes on at once if the progress thread does the
        // arithmetic. With a queue the caller has nothing to advance.
        const bool by_engine = arithmetic_remains || operation->ordered();
        world_impl.engine.start(operation, by_engine ? FirstAdvance::engine : FirstAdvance::caller);
    } else {
        // Needs no polling: it is done, or will be when other ranks offer their rows.
        world_impl.engine.test(*operation);
    }
    return operation;
}

std::shared_ptr<InPlaceExchange> Exchange::Impl::share_rows(uint64_t number, const Routes& routes) {
    if (!host_pool) {
        host_pool = std::make_unique<ScratchPool>(
            [memory = shared_memory](int64_t bytes) { return memory->allocate(bytes); });
    }
    return std::make_shared<InPlaceExchange>(shared_memory, *host_pool, number, world_impl.rank(),
                                             routes.sources, routes.readers);
}

void Exchange::Impl::finish(MixingOperation& operation, arena::Rows out,
                            MixingOperation::Result result, const MixingOperation::Then& then) {
    if (operation.ordered()) {
        world_impl.engine.rethrow_failure();
    } else {
        world_impl.wait("an exchange of parameters", operation);
    }
    // A piece has as many columns of all rows as fit in a second-level cache together with their
    // inputs.
    const bool by_pieces = then && place().immediate();
    constexpr int64_t kElements = 1 << 15;
    const arena::Columns columns = operation.columns();
    const int64_t width = std::max(arena::kBlock, kElements / std::max<int64_t>(out.count, 1));
    const base::Stopwatch watch;
    double others = 0;  // seconds of `then`
    const MixingOperation::Then timed = [&](arena::Columns piece) {
        const base::Stopwatch other;
        then(piece);
        others += other.seconds();
    };
    operation.finish(out, result, by_pieces ? layout.tiles(columns, width) : std::vector{columns},
                     then ? timed : then);
    world_impl.times.mix += watch.seconds() - others;
}

bool Exchange::Impl::finish(MixingOperation& operation, const UseTerms& use) {
    if (!place().immediate() || coded()) return false;
    world_impl.wait("an exchange of parameters", operation);
    return operation.finish(use);
}

void Exchange::Impl::reclaim(MixingOperation& operation) {
    InPlaceExchange* const in_place = operation.in_place();
    if (!in_place) return;
    world_impl.wait(
        "the reading of rows by the ranks of this host", [&] { return in_place->all_read(); },
        [&] { return in_place->remaining_readers(); }, 0,
        operation.trace ? operation.trace->bucket : -1);
    in_place->release();
    std::erase_if(unreclaimed, [&](const auto& other) { return other.get() == &operation; });
}

Exchange::Exchange(World& world, const Placement& placement, const arena::Layout& layout,
                   const graphs::Schedule* schedule, Reduction reduction, arena::ElementCodec codec)
    : impl_(std::make_unique<Impl>(world, placement, layout, schedule, reduction, codec)) {}

Exchange::~Exchange() {
    const auto unless_failed = [&](auto&& work) {
        if (std::uncaught_exceptions() > 0 || impl_->world_impl.failed) return;
        try {
            work();
        } catch (const std::exception& error) {
            base::warn(error.what());
        }
    };
    unless_failed([&] { drain(); });  // rows may still move, even if no caller finishes them
    if (!impl_->in_flight().empty()) impl_->world_impl.engine.halt();
    unless_failed([&] {
        // A run that a signal ends never finishes the exchanges that it has sent ahead. The other
        // ranks must not wait for this rank to read their rows.
        for (const auto& operation : impl_->unreclaimed) operation->in_place()->mark_read();
        // Other ranks may still read the rows of this rank.
        while (!impl_->unreclaimed.empty())
            impl_->reclaim(*std::shared_ptr(impl_->unreclaimed.front()));
    });
}

std::vector<std::shared_ptr<OperationInFlight>> Exchange::Impl::in_flight() {
    auto pending = world_impl.engine.in_flight();  // may include collectives
    std::erase_if(pending, [](const auto& each) {
        // The progress thread may not have removed an operation yet that it has just ended.
        return each->done() || (!dynamic_cast<const MixingOperation*>(each.get()) &&
                                !dynamic_cast<const DeliveryOperation*>(each.get()) &&
                                !dynamic_cast<const TransferOperation*>(each.get()));
    });
    return pending;
}

const arena::Place& Exchange::place() const { return impl_->place(); }

void Exchange::share_host_memory() {
    std::shared_ptr<HostMemory>& memory = impl_->shared_memory;
    if (place().immediate() && !memory) memory = std::make_shared<HostMemory>(impl_->world);
}

arena::Memory Exchange::peer_readable_memory() const {
    const std::shared_ptr<HostMemory>& memory = impl_->shared_memory;
    if (!place().immediate()) return nullptr;
    DBENCH_EXPECT(memory);
    if (!memory->shared()) return nullptr;
    return [memory](int64_t bytes) { return memory->allocate(bytes); };
}

std::string Exchange::rows_on_host() const {
    if (!place().immediate()) {
        return impl_->world_impl.member.local_size > 1 ? "as messages (they are in GPU memory)"
                                                       : "";
    }
    DBENCH_EXPECT(impl_->shared_memory);
    return impl_->shared_memory->status();
}

Token Exchange::start_mix(graphs::Round round, arena::Rows x, arena::Columns columns,
                          RowLifetime lifetime) {
    return impl_->start(impl_->plan(round), x, columns, false, lifetime);
}

void Exchange::finish_mix(const Token& token, arena::Rows out,
                          const std::function<void(arena::Columns)>& then) {
    impl_->finish(static_cast<MixingOperation&>(*token), out, MixingOperation::Result::average,
                  then);
}

bool Exchange::finish_mix(const Token& token, const UseTerms& use) {
    return impl_->finish(static_cast<MixingOperation&>(*token), use);
}

void Exchange::reclaim(const Token& token) {
    impl_->reclaim(static_cast<MixingOperation&>(*token));
}

void Exchange::finish_mix(const Token& token, arena::Rows out) {
    impl_->finish(static_cast<MixingOperation&>(*token), out);
}

void Exchange::finish_change(const Token& token, arena::Rows out) {
    auto& operation = static_cast<MixingOperation&>(*token);
    DBENCH_EXPECT(out.data != operation.rows().data);
    impl_->finish(operation, out, MixingOperation::Result::change);
}

std::shared_ptr<const arena::LocalMeans> Exchange::local_averaging(graphs::Round round) const {
    if (place().immediate() || impl_->coded()) return nullptr;
    const auto plan = impl_->plan(round);
    if (!plan->local()) return nullptr;
    return impl_->means.get(round.matrix, [&] { return local_means(*plan); });
}

void Exchange::mix(graphs::Round round, arena::Rows x, arena::Columns columns, arena::Rows out) {
    const auto plan = impl_->plan(round);
    const int64_t width = tile_columns(impl_->placement);
    const int64_t tiles = (columns.count() + width - 1) / width;
    // No messages: one pass, but it counts as many exchanges as on other ranks.
    if (plan->local()) {
        const auto operation = impl_->start(plan, x, columns, false);
        impl_->world_impl.exchanges += static_cast<uint64_t>(std::max<int64_t>(tiles, 1) - 1);
        return impl_->finish(*operation, out);
    }
    const auto start = [&](int64_t tile) {
        const int64_t begin = columns.begin + tile * width;
        return impl_->start(plan, x, {begin, std::min(begin + width, columns.end)}, false);
    };
    const Engine::Waiting waiting(impl_->world_impl.engine);
    auto operation = start(0);
    // If queues order everything and the received rows fit in memory, the host need not wait for
    // each tile.
    const bool one_by_one =
        tiles > 1 && !(operation->ordered() && receive_bytes(round, x.type) <= kMaxBytesInFlight);
    for (int64_t tile = 0; tile < tiles; ++tile) {  // the next tile moves while this one is added
        auto next = tile + 1 < tiles ? start(tile + 1) : nullptr;
        if (one_by_one) impl_->world_impl.wait("an exchange of parameters", *operation);
        impl_->finish(*operation, out);
        operation = std::move(next);
    }
}

Token Exchange::start_all_reduce(arena::Rows x, arena::Columns columns, RowLifetime lifetime) {
    return impl_->start(impl_->mean_plan, x, columns, true, lifetime);
}

void Exchange::finish_all_reduce(const Token& token) {
    auto& operation = static_cast<MixingOperation&>(*token);
    impl_->finish(operation, operation.rows());
}

Token Exchange::Impl::start_delivery(graphs::Round round, arena::Rows messages, int64_t bytes,
                                     Addressing addressing, MessageWriter writer) {
    auto& cache = addressing == Addressing::to_all ? to_all : to_each;
    const auto plan = cache.get(round.matrix, [&] {
        return make_delivery_plan(*schedule, round, placement, world_impl.rank(), addressing);
    });
    arena::Queue& queue = writer == MessageWriter::queue ? place().compute() : arena::host_queue();
    DBENCH_EXPECT(writer == MessageWriter::queue || messages.space == arena::Space::host);
    const auto& scratch = writer == MessageWriter::host ? host_visible_pool : pool;
    auto delivery = std::make_shared<DeliveryOperation>(world_impl.rows(), scratch, plan, messages,
                                                        bytes, queue);
    auto trace =
        trace_delivery({world_impl.exchanges, world_impl.rank(), world_impl.size()}, *plan, bytes);
    begin_or_keep(delivery, [&] { delivery->begin(world_impl.next_exchange()); });
    if (trace) trace->polled = delivery->moves();
    delivery->trace = std::move(trace);
    if (delivery->moves()) {
        world_impl.engine.start(delivery, FirstAdvance::caller);
    } else {
        world_impl.engine.test(*delivery);
    }
    return delivery;
}

Token Exchange::start_messages(graphs::Round round, arena::Rows messages, int64_t bytes,
                               MessageWriter writer) {
    return impl_->start_delivery(round, messages, bytes, Addressing::to_all, writer);
}

Token Exchange::start_link_messages(graphs::Round round, arena::Rows messages, int64_t bytes,
                                    MessageWriter writer) {
    return impl_->start_delivery(round, messages, bytes, Addressing::to_each, writer);
}

std::vector<std::vector<UsedMessage>> Exchange::finish_messages(const Token& token) {
    const auto& delivery = static_cast<const DeliveryOperation&>(*token);
    if (delivery.ordered()) {
        delivery.order_compute_after_transfer();
        impl_->world_impl.engine.rethrow_failure();
    } else {
        impl_->world_impl.wait("an exchange of messages", *token);
    }
    return delivery.used_messages();
}

int64_t Exchange::traced_bucket(const Token& token) {
    return token->trace ? token->trace->bucket : -1;
}

bool Exchange::poll(const Token& token) { return impl_->world_impl.engine.test(*token); }

void Exchange::drain() {
    for (const auto& operation : impl_->in_flight()) {
        impl_->world_impl.wait("an exchange of parameters", *operation);
    }
    for (const auto& operation : impl_->unreclaimed) {  // some of them are not in the engine's list
        impl_->world_impl.wait("an exchange of parameters", *operation);
    }
}

void Exchange::drain_for_step() {
    arena::Queue* const transport = impl_->world_impl.rows().queue();
    if (place().immediate() || !transport) return drain();
    arena::order(*transport, place().compute(), "transfers in flight before a measurement");
    impl_->world_impl.engine.rethrow_failure();
}

int64_t Exchange::receive_bytes(graphs::Round round, arena::DType type) const {
    return comm::receive_bytes(*impl_->plan(round), impl_->layout, impl_->codec, type);
}

}  // namespace dbench::comm
