#pragma once
// Checks of the service of asynchronous training on any transport. All ranks call each check. It
// returns "" or a description of the error.

#include <chrono>
#include <functional>
#include <thread>

#include "comm/peers/mailbox.hpp"
#include "comm/peers/pair_averaging.hpp"
#include "comm/ranks.hpp"

namespace dbench::comm::tests {

using Neighbours = std::vector<std::vector<int>>;

inline Neighbours edges(int n, const std::function<bool(int, int)>& linked) {
    Neighbours neighbours(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) {
        for (int j = i + 1; j < n; ++j) {
            if (!linked(i, j) && !linked(j, i)) continue;
            neighbours[i].push_back(j);
            neighbours[j].push_back(i);
        }
    }
    return neighbours;
}

/// Returns a path, a ring, a complete graph, a star, an exponential graph and a random connected
/// graph.
inline std::vector<Neighbours> connected_graphs(int n, uint64_t seed) {
    base::Random random(seed, base::Purpose::graph);
    const auto step = [n](int i, int j) { return (j - i + n) % n; };
    return {edges(n, [&](int i, int j) { return j == i + 1; }),
            edges(n, [&](int i, int j) { return step(i, j) == 1; }),
            edges(n, [](int, int) { return true; }),
            edges(n, [n](int i, int) { return i == n / 2; }),
            edges(n, [&](int i, int j) { return (step(i, j) & (step(i, j) - 1)) == 0; }),
            edges(n, [&](int i, int j) { return j == i + 1 || random.uniform() < 0.2; })};
}

/// Sleeps for up to a millisecond; mostly not at all.
inline void dawdle(base::Random& random) {
    if (random.uniform() < 0.8) return;
    const auto us = static_cast<int64_t>(1000 * random.uniform());
    std::this_thread::sleep_for(std::chrono::microseconds(us));
}

inline std::string differs(const std::string& what, double found, double expected) {
    return what + ": " + std::to_string(found) + " is not " + std::to_string(expected) + "; ";
}

/// Ranks average with random neighbours and add small integers of their own, at their own pace. The
/// sum over ranks must be the sum of what was added.
inline std::string check_pairs(World& world, const Neighbours& neighbours, uint64_t seed,
                               int64_t iterations) {
    constexpr int64_t kColumns = 1040;
    const auto me = static_cast<size_t>(world.rank());
    base::Random random(seed, base::Purpose::delay, {me});
    const arena::Buffer x(arena::DType::float64, world.rank(), 1, kColumns);
    for (int64_t c = 0; c < kColumns; ++c) set(x.rows(), 0, c, initial(world.rank(), c));

    std::vector<double> totals(kColumns + 1);  // of x now, minus what was added since the start
    const auto add = [&](double sign) {
        for (int64_t c = 0; c < kColumns; ++c) totals[c] += sign * get(x.rows(), 0, c);
    };
    add(-1);
    RunningService<PairAveraging> pairs(world, x.rows(), neighbours[me]);
    for (int64_t first = 0; first < iterations; first += iterations / 2) {  // two spans
        pairs->begin(first, first + iterations / 2);
        for (int64_t t = first; pairs->may_begin(t, false); ++t) {
            pairs->request(neighbours[me][random.below(neighbours[me].size())]);
            dawdle(random);
            pairs->finish();
            const auto step = static_cast<double>(random.below(5));
            pairs->run_exclusively([&] {
                for (int64_t c = 0; c < kColumns; ++c) {
                    set(x.rows(), 0, c, get(x.rows(), 0, c) + step);
                    totals[c] -= step;
                }
            });
        }
        pairs->finish_span();
    }
    add(+1);
    totals[kColumns] = static_cast<double>(pairs->averagings());
    pairs->close();

    world.sum(totals);
    std::string problems;
    for (int64_t c = 0; c < kColumns; ++c) {
        if (!(std::abs(totals[c]) < 1e-9)) {  // values are up to 1e4
            problems += differs("the sum's change beside updates", totals[c], 0);
            break;
        }
    }
    const auto asked = static_cast<double>(2 * world.size() * iterations);
    if (totals[kColumns] != asked) problems += differs("averagings", totals[kColumns], asked);
    return problems;
}

/// Without updates all rows converge to their mean.
inline std::string check_consensus(World& world, const Neighbours& neighbours, uint64_t seed) {
    const auto me = static_cast<size_t>(world.rank());
    base::Random random(seed, base::Purpose::delay, {me});
    const arena::Buffer x(arena::DType::float32, world.rank(), 1, 16);
    set(x.rows(), 0, 3, world.rank());
    RunningService<PairAveraging> pairs(world, x.rows(), neighbours[me]);
    pairs->begin(0, 400);
    for (int64_t t = 0; pairs->may_begin(t, false); ++t) {
        pairs->request(neighbours[me][random.below(neighbours[me].size())]);
        pairs->finish();
    }
    pairs->finish_span();
    pairs->close();
    const double mean = 0.5 * (world.size() - 1);
    const double found = get(x.rows(), 0, 3);
    return std::abs(found - mean) < 1e-2 * world.size() ? "" : differs("the mean", found, mean);
}

/// A row that arrives is complete and never older than the row before it. The last published row
/// arrives before any rank leaves.
inline std::string check_mail(World& world, const Neighbours& neighbours, uint64_t seed,
                              int64_t iterations) {
    constexpr size_t kColumns = 3000;
    const std::vector<int>& near = neighbours[static_cast<size_t>(world.rank())];
    base::Random random(seed, base::Purpose::delay, {static_cast<uint64_t>(world.rank())});
    std::vector<int64_t> row(kColumns), stamps(near.size(), -1);
    RunningService<Mailbox> mailbox(world, kColumns * sizeof(int64_t), near, near);
    std::string problems;
    const auto look = [&](int64_t least) {
        for (size_t k = 0; k < near.size(); ++k) {
            const Mailbox::StampedRow mail = mailbox->last(k);
            if (!mail.row || mail.stamp < std::max(least, stamps[k])) {
                problems += "an old row; ";
                return;
            }
            stamps[k] = mail.stamp;
            const auto* const values = reinterpret_cast<const int64_t*>(mail.row.get());
            for (size_t c = 0; c < kColumns; ++c) {
                if (values[c] == 1000 * near[k] + mail.stamp) continue;
                problems += "a row that its sender never had; ";
                return;
            }
        }
    };
    mailbox->begin(0, iterations);
    for (int64_t t = 0; mailbox->may_begin(t, false); ++t) {
        std::fill(row.begin(), row.end(), 1000 * world.rank() + t);
        mailbox->publish(row.data(), t);
        if (t == 0) mailbox->wait_for(0);
        dawdle(random);
        look(0);
    }
    mailbox->finish_span();
    look(iterations - 1);
    for (const int64_t sent : mailbox->take_sent(iterations - 1, 1)) {
        if (sent != static_cast<int64_t>(near.size())) problems += "the last is not sent to all; ";
    }
    mailbox->close();
    return problems;
}

/// If one rank requests to stop, all ranks stop after the same number of iterations, and can
/// continue afterwards.
inline std::string check_stop(World& world, const Neighbours& neighbours, uint64_t seed) {
    constexpr int64_t kFar = 1 << 20;
    const auto me = static_cast<size_t>(world.rank());
    base::Random random(seed, base::Purpose::delay, {me});
    base::Random common(seed, base::Purpose::shuffle);
    const arena::Buffer x(arena::DType::float32, world.rank(), 1, 16);
    RunningService<PairAveraging> pairs(world, x.rows(), neighbours[me]);
    std::string problems;
    int64_t first = 0;
    for (int span = 0; span < 3; ++span) {
        const auto culprit = static_cast<int>(common.below(static_cast<uint64_t>(world.size())));
        const auto when = first + static_cast<int64_t>(common.below(20));
        pairs->begin(first, first + kFar);
        int64_t t = first;
        for (; pairs->may_begin(t, world.rank() == culprit && t >= when); ++t) {
            pairs->request(neighbours[me][random.below(neighbours[me].size())]);
            dawdle(random);
            pairs->finish();
        }
        const Service::SpanEnd reached = pairs->finish_span();
        if (!reached.stop) problems += "nobody stops; ";
        if (reached.iteration != t || t < when) problems += "not where all stop; ";
        first = reached.iteration;
    }
    pairs->begin(first, first + 3);
    int64_t more = 0;
    while (pairs->may_begin(first + more, false)) ++more;
    const Service::SpanEnd reached = pairs->finish_span();
    if (more != 3 || reached.stop) problems += "it does not go on; ";
    pairs->close();
    return problems;
}

}  // namespace dbench::comm::tests
