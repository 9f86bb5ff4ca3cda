#include <algorithm>
#include <cstdio>

#include "base/clock.hpp"
#include "catch.hpp"
#include "comm/mixing_checks.hpp"

namespace dbench::comm::tests {
namespace {

/// Seconds of arithmetic that leaves memory alone, as a forward and backward in cache would.
void compute(double seconds) {
    volatile double sink = 1;
    for (const double start = base::now(); base::now() - start < seconds;) {
        for (int i = 0; i < 1000; ++i) sink = sink * 1.0000001;
    }
}

/// The slowest rank's seconds.
double slowest(World& world, double seconds) {
    double most = 0;
    for (const std::string& text : world.all_gather(std::to_string(seconds))) {
        most = std::max(most, std::stod(text));
    }
    return most;
}

/// Seconds that remain of moving, without the arithmetic after it, after a computation of
/// `computing` seconds. Nothing but the engine's thread helps it along meanwhile. The least of some
/// tries: the machine has other things to do, too.
template <class Start, class Finish>
double exposed(World& world, Exchange& exchange, double computing, Start&& start, Finish&& finish) {
    constexpr int kTries = 8;
    double least = 1e9;
    for (int attempt = 0; attempt < kTries; ++attempt) {
        world.barrier();
        const Token token = start();
        compute(computing);
        const base::Stopwatch watch;
        while (!exchange.poll(token)) std::this_thread::yield();
        least = std::min(least, slowest(world, watch.seconds()));
        finish(token);
    }
    return least;
}

/// An exchange that takes B where it is waited for at once: behind a computation of 3 B little of
/// it is left (where the engine's thread has no core of its own it gets every other turn, 2 B), and
/// behind one of B / 10 most is, or nothing was measured.
template <class Start, class Finish>
void check_hidden(World& world, Exchange& exchange, const char* name, Start&& start,
                  Finish&& finish) {
    finish(start());  // memory is touched for the first time
    const double blocking = exposed(world, exchange, 0, start, finish);
    const double longer = exposed(world, exchange, 3 * blocking, start, finish);
    const double shorter = exposed(world, exchange, blocking / 10, start, finish);
    if (world.rank() == 0) {
        std::printf("%s: blocking %.1f ms, exposed %.1f ms, behind a tenth %.1f ms\n", name,
                    1e3 * blocking, 1e3 * longer, 1e3 * shorter);
    }
    CHECK(longer < 0.2 * blocking);
    CHECK(shorter > 0.5 * blocking);
}

}  // namespace

TEST_CASE("More than 80 % of a large exchange is hidden behind three times its time") {
    World world{launch()};
    if (world.size() == 1) return;
    const int n = world.size();
    arena::Layout layout;
    layout.add("large", {int64_t{16} << 20}, arena::TensorKind::weight);  // 64 MiB
    const DenseSchedule ring = circulant(n, {1});
    const arena::Buffer x(arena::DType::float32, world.rank(), 1, layout.columns());
    const arena::Buffer out(arena::DType::float32, world.rank(), 1, layout.columns());
    Exchange exchange(world, {n, n}, layout, &ring, Reduction::reproducible);

    check_hidden(
        world, exchange, "mix",
        [&] {
            return exchange.start_mix({0, true}, x.rows(), layout.all());
        },
        [&](const Token& token) { exchange.finish_mix(token, out.rows()); });
    check_hidden(
        world, exchange, "all-reduce",
        [&] { return exchange.start_all_reduce(x.rows(), layout.all()); },
        [&](const Token& token) { exchange.finish_all_reduce(token); });
}

}  // namespace dbench::comm::tests
