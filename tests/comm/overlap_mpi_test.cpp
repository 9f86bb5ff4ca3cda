// Exchanges move while their rank computes, from start to end without a call of the rank.

#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "catch.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/world/engine.hpp"

namespace dbench::comm::tests {
namespace {

/// Returns true if the exchange ends within half a minute without calls from this thread.
bool moves_alone(const Token& token) {
    const base::Stopwatch watch;
    while (!token->done() && watch.seconds() < 30) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return token->done();
}

}  // namespace

TEST_CASE("A large exchange moves while its rank computes") {
    World world{launch()};
    if (world.size() == 1) return;
    const int n = world.size();
    arena::Layout layout;
    layout.add("large", {int64_t{16} << 20}, arena::TensorKind::weight);  // 64 MiB
    const DenseSchedule ring = circulant(n, {1});
    const arena::Buffer x(arena::DType::float32, world.rank(), 1, layout.columns());
    const arena::Buffer out(arena::DType::float32, world.rank(), 1, layout.columns());
    Exchange exchange(world, {n, n}, layout, &ring, Reduction::reproducible);

    const Token mix = exchange.start_mix({0, true}, x.rows(), layout.all());
    CHECK(moves_alone(mix));
    exchange.finish_mix(mix, out.rows());
    const Token reduce = exchange.start_all_reduce(x.rows(), layout.all());
    CHECK(moves_alone(reduce));
    exchange.finish_all_reduce(reduce);
}

TEST_CASE("An exchange that has been drained is finished without waiting") {
    World world{launch()};
    if (world.size() == 1) return;
    const int n = world.size();
    const arena::Layout layout = awkward_layout();
    const DenseSchedule ring = circulant(n, {1, -1});
    const arena::Buffer x = replicas(layout, arena::DType::float32, world.rank(), 1);
    Exchange exchange(world, {n, n}, layout, &ring, Reduction::reproducible);
    std::vector<Token> tokens;
    for (const arena::Columns columns : cuts(layout)) {
        tokens.push_back(exchange.start_mix({0, true}, x.rows(), columns));
    }
    exchange.drain();
    for (const Token& token : tokens) CHECK(token->done());
    for (const Token& token : tokens) exchange.finish_mix(token, x.rows());
    const arena::Buffer expected = mixed_alone(ring, layout, arena::DType::float32);
    CHECK(difference(x.rows(), expected.rows(), layout.columns()) == "");

    const arena::Buffer start = replicas(layout, arena::DType::float32, world.rank(), 1);
    const arena::Buffer in_place = peer_readable(exchange, start.rows());
    arena::copy(start.rows(), in_place.rows(), layout.all());
    world.barrier();
    if (world.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const Token read =
        exchange.start_mix({0, true}, in_place.rows(), layout.all(), RowLifetime::until_reclaimed);
    exchange.drain();
    CHECK(read->done());
    exchange.finish_mix(read, x.rows());
    CHECK(difference(x.rows(), expected.rows(), layout.columns()) == "");
}

}  // namespace dbench::comm::tests
