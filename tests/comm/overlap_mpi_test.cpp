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

struct Times {
    double blocking, exposed;
};

/// The slowest rank's seconds.
double slowest(World& world, double seconds) {
    double most = 0;
    for (const std::string& text : world.all_gather(std::to_string(seconds))) {
        most = std::max(most, std::stod(text));
    }
    return most;
}

/// Times of moving alone, without the arithmetic after it: of an exchange that is waited for at
/// once, and of the wait after a computation that is long enough. Nothing but the engine's thread
/// helps it along meanwhile.
template <class Start, class Finish>
Times measure(World& world, Exchange& exchange, Start&& start, Finish&& finish) {
    const auto moved = [&](const Token& token) {
        const base::Stopwatch watch;
        while (!exchange.poll(token)) std::this_thread::yield();
        return watch.seconds();
    };
    finish(start());  // memory is touched for the first time
    Times times{};
    world.barrier();
    const Token blocking = start();
    times.blocking = slowest(world, moved(blocking));
    finish(blocking);

    world.barrier();
    const Token hidden = start();
    compute(8 * times.blocking);
    times.exposed = slowest(world, moved(hidden));
    finish(hidden);
    return times;
}

/// The share hidden, from the best of some tries: the machine has other things to do, too.
template <class Start, class Finish>
double best_hidden(World& world, Exchange& exchange, const char* name, Start&& start,
                   Finish&& finish) {
    constexpr int kFewest = 4, kMost = 12;
    Times best{1e9, 1e9};
    const auto hidden = [&] { return 1 - best.exposed / best.blocking; };
    for (int attempt = 0; attempt < kFewest || (attempt < kMost && hidden() <= 0.8); ++attempt) {
        const Times times = measure(world, exchange, start, finish);
        best.blocking = std::min(best.blocking, times.blocking);
        best.exposed = std::min(best.exposed, times.exposed);
    }
    if (world.rank() == 0) {
        std::printf("%s: blocking %.1f ms, exposed %.1f ms, hidden %.0f %%\n", name,
                    1e3 * best.blocking, 1e3 * best.exposed, 100 * hidden());
    }
    return hidden();
}

}  // namespace

TEST_CASE("More than 80 % of a large exchange is hidden behind computation") {
    World world{launch()};
    if (world.size() == 1) return;
    const int n = world.size();
    arena::Layout layout;
    layout.add("large", {int64_t{16} << 20}, arena::TensorKind::weight);  // 64 MiB
    const DenseSchedule ring = circulant(n, {1});
    const arena::Buffer x(arena::DType::float32, world.rank(), 1, layout.columns());
    const arena::Buffer out(arena::DType::float32, world.rank(), 1, layout.columns());
    Exchange exchange(world, {n, n}, layout, &ring, Reduction::reproducible);

    CHECK(best_hidden(
              world, exchange, "mix",
              [&] {
                  return exchange.start_mix({0, true}, x.rows(), layout.all());
              },
              [&](const Token& token) { exchange.finish_mix(token, out.rows()); }) > 0.8);
    CHECK(best_hidden(
              world, exchange, "all-reduce",
              [&] { return exchange.start_all_reduce(x.rows(), layout.all()); },
              [&](const Token& token) { exchange.finish_all_reduce(token); }) > 0.8);
}

}  // namespace dbench::comm::tests
