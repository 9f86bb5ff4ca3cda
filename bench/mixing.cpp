// Compares kernels over rows with plain copies: mixing, statistics and updates of 16 replicas with
// a million parameters in one process. Every case alternates with a memcpy of the rows, so that
// disturbances of the machine affect both. A ratio is the median over rounds of the case's bytes
// per second over those of the neighbouring copies. Fails if mixing misses its requirements.
//   bench_mixing [rounds] [columns]      defaults: 15 1000000

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "arena/kernels.hpp"
#include "arena/tree.hpp"
#include "arena/updates/accum_adam.hpp"
#include "base/random.hpp"

using namespace dbench;
using namespace dbench::arena;

namespace {

constexpr int kReplicas = 16;
constexpr double kRequiredShare = 0.70;  // of the copy's bandwidth
constexpr double kRequiredSpread = 1.5;  // slowest over fastest graph

/// Returns the replicas that replica i averages, all with the same weight; the torus is 4 x 4.
using Neighbours = std::vector<int> (*)(int);
std::vector<int> ring(int i) { return {(i + 15) % 16, i, (i + 1) % 16}; }
std::vector<int> torus(int i) {
    const int row = i / 4 * 4, column = i % 4;
    return {(i + 12) % 16, row + (column + 3) % 4, i, row + (column + 1) % 4, (i + 4) % 16};
}
std::vector<int> exponential(int i) {
    return {i, (i + 15) % 16, (i + 14) % 16, (i + 12) % 16, (i + 8) % 16};
}

std::vector<std::vector<Term>> terms_of(Neighbours neighbours, Rows x) {
    std::vector<std::vector<Term>> terms;
    for (int i = 0; i < kReplicas; ++i) {
        std::vector<int> peers = neighbours(i);
        std::sort(peers.begin(), peers.end());
        terms.emplace_back();
        for (const int peer : peers) {
            terms.back().push_back({x.at(peer, 0), 1.0 / static_cast<double>(peers.size())});
        }
    }
    return terms;
}

enum class Mixing { none, in_place, to_other_rows };

struct Case {
    std::string name;
    double bytes;  // read and written, if every row is moved once
    std::function<void()> run;
    Mixing mixing;
    std::vector<double> seconds = {}, ratios = {};
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

/// Returns processor seconds of this thread, so that waiting for a core does not count.
double timed(const std::function<void()>& work) {
    const auto now = [] {
        timespec at{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
        return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
    };
    const double start = now();
    work();
    return now() - start;
}

/// Compares a mixing of `x` with the definition in float64 at some columns.
void verify(Neighbours neighbours, Rows x, Rows out) {
    weighted_means(terms_of(neighbours, x), out, {0, x.stride});
    for (int i = 0; i < kReplicas; ++i) {
        const std::vector<int> peers = neighbours(i);
        for (int64_t c = 0; c < x.stride; c += 997) {
            double sum = 0;
            for (const int peer : peers) sum += x.row<float>(peer)[c];
            sum /= static_cast<double>(peers.size());
            if (std::abs(out.row<float>(i)[c] - sum) > 1e-6) {
                std::fprintf(stderr, "bench_mixing: wrong result (replica %d, column %lld)\n", i,
                             static_cast<long long>(c));
                std::exit(1);
            }
        }
    }
}

/// The cases and the rows that they use.
struct Bench {
    Layout layout;
    Buffer x_buffer, out_buffer, g_buffer, v_buffer, m_buffer;
    Rows x, out, g, v, m;
    double bytes;  // of the rows of all replicas
    std::vector<double> mean, sums;
    const ReadOnlyArray<double> no_decay = std::vector<double>{0.0};
    std::vector<Case> cases;

    explicit Bench(int64_t parameters) {
        layout.add("parameters", {parameters}, TensorKind::weight);
        for (const auto& [buffer, rows] : {std::pair{&x_buffer, &x},
                                           {&out_buffer, &out},
                                           {&g_buffer, &g},
                                           {&v_buffer, &v},
                                           {&m_buffer, &m}}) {
            *buffer = Buffer(DType::float32, 0, kReplicas, layout.columns());
            *rows = buffer->rows();
        }
        bytes = static_cast<double>(x_buffer.bytes());
        mean.resize(static_cast<size_t>(layout.columns()));
        sums.resize(kReplicas * layout.segments().size());
        for (int64_t i = 0; i < kReplicas; ++i) {
            base::Random random(1, base::Purpose::init, {static_cast<uint64_t>(i)});
            for (int64_t c = 0; c < parameters; ++c) {
                x.row<float>(i)[c] = static_cast<float>(random.uniform() + 0.5);
                g.row<float>(i)[c] = static_cast<float>(0.01 * random.uniform());
            }
        }
    }

    void add(std::string name, double moved, std::function<void()> run,
             Mixing mixing = Mixing::none) {
        cases.push_back({std::move(name), moved, std::move(run), mixing});
    }

    void add_mixing(const std::string& graph, Neighbours neighbours) {
        verify(neighbours, x, out);
        const auto terms = terms_of(neighbours, x);
        add(
            "mix " + graph + ", in place", 2 * bytes,
            [this, terms] { weighted_means(terms, x, layout.all()); }, Mixing::in_place);
        add(
            "mix " + graph + ", to other rows", 2 * bytes,
            [this, terms] { weighted_means(terms, out, layout.all()); }, Mixing::to_other_rows);
    }

    void add_statistics() {
        add("squares", bytes, [this] { squares(layout, x, layout.all(), sums.data()); });
        add("moments over replicas", bytes + 8.0 * static_cast<double>(layout.columns()), [this] {
            const Interval root{0, kReplicas};
            tree_moments(layout, kReplicas, x, {&root, 1}, layout.all(), mean.data(), sums.data());
        });
        add("tree mean over replicas", bytes + bytes / kReplicas, [this] {
            std::vector<Summand> leaves;
            for (int i = 0; i < kReplicas; ++i) leaves.push_back({{i, i + 1}, x.at(i, 0)});
            tree_mean(DType::float32, kReplicas, leaves, out.data, layout.all());
        });
    }

    void add_updates() {
        const auto sgd = [this](double momentum, double* squared) {
            sgd_update(layout, x, x, x, g, v, layout.all(), {1e-4, momentum, false, no_decay},
                       squared);
        };
        add("sgd", 3 * bytes, [=] { sgd(0, nullptr); });
        add("sgd, update's norm too", 3 * bytes, [=, this] { sgd(0, sums.data()); });
        add("sgd with momentum", 5 * bytes, [=] { sgd(0.9, nullptr); });
        const AdamHyperparameters adam{1e-4, 0.9, 0.999, 1e-8, 10, false, no_decay};
        add("adam", 7 * bytes,
            [=, this] { adam_update(layout, x, x, x, g, v, m, {}, layout.all(), adam, nullptr); });
        const auto accum_adam = [=, this](int64_t window) {
            accum_adam_update(layout, x, x, x, g, v, m, out, layout.all(), {adam, window}, nullptr);
        };
        add("accum_adam, inside a window", 7 * bytes, [=] { accum_adam(4); });
        add("accum_adam, a window's last", 9 * bytes, [=] { accum_adam(5); });
    }

    /// Measures all cases and stores their times. Returns the seconds of the plain copies.
    std::vector<double> measure(int rounds) {
        const auto copy = [this] {
            std::memcpy(out.data, x.data, static_cast<size_t>(x_buffer.bytes()));
        };
        copy();
        for (Case& c : cases) c.run();
        std::vector<double> copies;
        for (int round = 0; round < rounds; ++round) {
            for (Case& c : cases) {
                const double before = timed(copy), seconds = timed(c.run), after = timed(copy);
                copies.push_back((before + after) / 2);
                c.seconds.push_back(seconds);
                c.ratios.push_back((c.bytes / seconds) / (2 * bytes / copies.back()));
            }
        }
        return copies;
    }
};

void print_row(const std::string& name, double seconds, double bytes, double share) {
    std::printf("%-32s %9.2f %9.1f %9.2f\n", name.c_str(), 1e3 * seconds, bytes / seconds / 1e9,
                share);
}

/// Prints both requirements of mixing. Returns true if they are met.
bool meets_requirements(const std::vector<Case>& cases) {
    double worst = 1e300, spread = 1;
    for (const Mixing kind : {Mixing::in_place, Mixing::to_other_rows}) {
        double least = 1e300, most = 0;  // share of the copy's bandwidth, over graphs
        for (const Case& c : cases) {
            if (c.mixing != kind) continue;
            least = std::min(least, median(c.ratios));
            most = std::max(most, median(c.ratios));
        }
        worst = std::min(worst, least);
        spread = std::max(spread, most / least);
    }
    std::printf("mixing, least share of the copy's bandwidth: %.2f (required: %.2f)\n", worst,
                kRequiredShare);
    std::printf("mixing, slowest over fastest graph: %.2f (at most: %.2f)\n", spread,
                kRequiredSpread);
    return worst >= kRequiredShare && spread <= kRequiredSpread;
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
    const int64_t parameters = argc > 2 ? std::max(1LL, std::atoll(argv[2])) : 1000000;
    Bench bench(parameters);
    bench.add_mixing("ring", ring);
    bench.add_mixing("torus", torus);
    bench.add_mixing("exponential", exponential);
    bench.add_statistics();
    bench.add_updates();
    const double copy = median(bench.measure(rounds));

    std::printf("%d replicas of %lld parameters, float32, one thread, medians of %d rounds\n",
                kReplicas, static_cast<long long>(parameters), rounds);
    std::printf("%-32s %9s %9s %9s\n", "", "ms", "GB/s", "of copy");
    print_row("copy of the rows", copy, 2 * bench.bytes, 1);
    for (const Case& c : bench.cases) {
        print_row(c.name, median(c.seconds), c.bytes, median(c.ratios));
    }
    return meets_requirements(bench.cases) ? 0 : 1;
}
