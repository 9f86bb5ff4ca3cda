// Mixing in float32 over many iterations: the mean must not drift, because algorithms integrate it.

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/random.hpp"
#include "catch.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/transport/launcher.hpp"

namespace dbench::comm {
namespace {

constexpr int kReplicas = 12, kColumns = 16, kAveragings = 100'000;

/// Returns the graph for 12 replicas with default parameters; null if it has no such size or no
/// defaults.
std::unique_ptr<graphs::Schedule> graph(const std::string& name) try {
    return graphs::make_graph(base::Json(name), {kReplicas, 1});
} catch (const base::UserError&) {
    return nullptr;
}

arena::Layout vector() {
    arena::Layout layout;
    layout.add("x", {kColumns}, arena::TensorKind::weight);
    return layout;
}

/// Returns values around 10, where a unit in the last place is 1e-6.
arena::Buffer start(const arena::Layout& layout, double spread) {
    arena::Buffer x(arena::DType::float32, 0, kReplicas, layout.columns());
    base::Random random(7, base::Purpose::graph);
    for (int c = 0; c < kColumns; ++c) {
        const double common = 10 + random.normal();
        for (int i = 0; i < kReplicas; ++i) {
            x.rows().row<float>(i)[c] = static_cast<float>(common + spread * random.normal());
        }
    }
    return x;
}

/// Averages 100,000 times, or until a whole period has changed nothing (then no later one will). A
/// random graph, which has no period, averages 2,000 times.
void average(Exchange& exchange, const graphs::Schedule& schedule, const arena::Layout& layout,
             const arena::Rows& x) {
    const int64_t period = schedule.period();
    const auto bytes = static_cast<size_t>(x.count * x.stride) * sizeof(float);
    std::vector<char> before(bytes);
    for (int t = 0; t < (period > 0 ? kAveragings : 2000); ++t) {
        if (period > 0 && t % period == 0) {
            if (t > 0 && std::memcmp(before.data(), x.data, bytes) == 0) return;
            std::memcpy(before.data(), x.data, bytes);
        }
        exchange.mix(schedule.at(t), x, layout.all(), x);
    }
}

double mean(const arena::Rows& x, int c) {
    double sum = 0;
    for (int i = 0; i < kReplicas; ++i) sum += x.row<float>(i)[c];
    return sum / kReplicas;
}

}  // namespace

TEST_CASE("Every graph keeps the mean over 100,000 averagings in float32") {
    const arena::Layout layout = vector();
    World world{alone()};
    int graphs = 0;
    for (const auto& entry : graphs::graph_table()) {
        const auto schedule = graph(entry.name);
        if (!schedule) continue;
        ++graphs;
        CAPTURE(entry.name);
        Exchange exchange(world, {kReplicas, 1}, layout, schedule.get(), Reduction::reproducible);
        for (const double spread : {0.0, 1.0}) {
            const arena::Buffer x = start(layout, spread), before = start(layout, spread);
            average(exchange, *schedule, layout, x.rows());
            for (int c = 0; c < kColumns; ++c) {
                CAPTURE(spread, c);
                if (spread == 0) {
                    CHECK(x.rows().row<float>(5)[c] == before.rows().row<float>(5)[c]);
                } else {
                    CHECK(std::abs(mean(x.rows(), c) - mean(before.rows(), c)) < 2e-5);
                }
            }
        }
    }
    CHECK(graphs >= 30);
}

TEST_CASE("The changes by averaging sum to zero over many iterations") {
    const arena::Layout layout = vector();
    World world{alone()};
    for (const char* name :
         {"ring", "torus", "exponential", "star", "path", "one_peer_exponential"}) {
        const auto schedule = graph(name);
        REQUIRE(schedule);
        CAPTURE(name);
        Exchange exchange(world, {kReplicas, 1}, layout, schedule.get(), Reduction::reproducible);
        const arena::Buffer x = start(layout, 1e-3);
        const arena::Buffer change(x.rows().type, 0, kReplicas, layout.columns());
        std::vector<float> sums(kReplicas * kColumns, 0.0f);
        for (int t = 0; t < 5'000; ++t) {
            const Token token = exchange.start_mix(schedule->at(t), x.rows(), layout.all());
            exchange.finish_change(token, change.rows());
            for (int i = 0; i < kReplicas; ++i) {
                for (int c = 0; c < kColumns; ++c) {
                    sums[i * kColumns + c] =
                        0.99f * sums[i * kColumns + c] + change.rows().row<float>(i)[c];
                }
            }
        }
        for (int c = 0; c < kColumns; ++c) {
            double sum = 0, size = 0;
            for (int i = 0; i < kReplicas; ++i) {
                sum += sums[i * kColumns + c];
                size += std::abs(sums[i * kColumns + c]);
            }
            CHECK(size > 1e-3);
            CHECK(std::abs(sum) < 1e-5 * size);
        }
    }
}

}  // namespace dbench::comm
