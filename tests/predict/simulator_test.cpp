// Closed forms of the simulated step time, and the recursion against a naive one.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/quantile.hpp"
#include "catch.hpp"
#include "graphs/schedule.hpp"
#include "graphs/schedules/selection.hpp"
#include "predict/simulator.hpp"

using namespace dbench;
using namespace dbench::predict;
using Catch::Approx;

namespace {

constexpr double kCompute = 0.1, kRow = 1e6;

/// One bucket, which is ready at the end of backward; no arithmetic.
Work plain_work() {
    Work work;
    work.compute = Distribution(kCompute);
    work.buckets = {{kRow, 1.0}};
    work.tiles = {kRow};
    return work;
}

/// Each rank has a host of its own.
Network apart(int ranks, double bandwidth, double latency = 0) {
    Network network;
    for (int r = 0; r < ranks; ++r) network.host.push_back(r);
    network.remote = {latency, bandwidth};
    network.uplink = bandwidth;
    return network;
}

Rounds rounds_of(const char* type, int n, int ranks = 0) {
    const auto graph = graphs::make_graph(base::parse_json(type, "test"), {n, 1});
    return plan_rounds(*graph, {n, ranks > 0 ? ranks : n}, 64);
}

double step(const Work& work, const Network& network, const Rounds& rounds, Order order) {
    return simulate(work, network, rounds, order, 100, 1).mean();
}

/// Returns a distribution whose draws are nearly those of an exponential one.
Distribution exponential(double mean) {
    std::vector<double> samples;
    const int count = 20001;
    for (int k = 0; k < count; ++k) {
        samples.push_back(-mean * std::log(1 - (k + 0.5) / count));
    }
    return Distribution::of_samples(samples);
}

}  // namespace

TEST_CASE("Without jitter a ring takes computation and two messages, or the longer of both") {
    const Rounds ring = rounds_of("\"ring\"", 6);
    const double message = kRow / 50e6, latency = 1e-3;
    const Network network = apart(6, 50e6, latency);
    const Work work = plain_work();
    const double exposed = 2 * message + latency;
    CHECK(step(work, network, ring, Order::adapt_then_combine) == Approx(kCompute + exposed));
    CHECK(step(work, network, ring, Order::combine_then_adapt) == Approx(kCompute + exposed));
    CHECK(step(work, network, ring, Order::combine_while_adapt) == Approx(kCompute));
    const Network slow = apart(6, 10e6, latency);
    CHECK(step(work, slow, ring, Order::combine_while_adapt) == Approx(2 * kRow / 10e6 + latency));
}

TEST_CASE("An exchange of buckets hides behind the rest of backward") {
    Work work = plain_work();
    work.buckets = {{kRow / 2, 0.5}, {kRow / 2, 1.0}};
    const Rounds ring = rounds_of("\"ring\"", 4);
    // The first half of the row moves during half of the step; the second half is exposed.
    CHECK(step(work, apart(4, 20e6), ring, Order::adapt_then_combine) ==
          Approx(kCompute + 2 * kRow / 2 / 20e6));
    // If the first half takes longer, all of it is in the way of the second half.
    CHECK(step(work, apart(4, 10e6), ring, Order::adapt_then_combine) ==
          Approx(kCompute / 2 + 2 * kRow / 10e6));
}

TEST_CASE("An all-reduce moves 2 (m - 1) / m rows over each link, and waits twice") {
    const int n = 8;
    const double bandwidth = 1e7, latency = 1e-3;
    const Rounds all = plan_all_reduce({n, n});
    const double expected = kCompute + 2.0 * (n - 1) / n * kRow / bandwidth + 2 * latency;
    CHECK(step(plain_work(), apart(n, bandwidth, latency), all, Order::all_reduce) ==
          Approx(expected));
    Work ring = plain_work();
    ring.library_sum = true;
    CHECK(step(ring, apart(n, bandwidth, latency), all, Order::all_reduce) ==
          Approx(expected + 2 * (n - 2) * latency));
    CHECK(all.mean_rows_sent() == Approx(2.0 * (n - 1)));
}

TEST_CASE("Hosts add their own rows before an all-reduce, if all of them have several ranks") {
    const double bandwidth = 1e7, latency = 1e-3;
    Work work = plain_work();
    Network network = apart(8, bandwidth, latency);
    const auto exposed = [&](const Rounds& rounds) {
        return step(work, network, rounds, Order::all_reduce) - kCompute;
    };
    const Rounds all = plan_all_reduce({8, 8});
    const double row = kRow / bandwidth;
    network.host = {0, 0, 1, 1, 2, 2, 3, 3};
    CHECK(exposed(all) == Approx(2 * 3 / 4. * row + 2 * latency));
    network.host = {0, 0, 0, 0, 1, 1, 1, 1};
    CHECK(exposed(all) == Approx(2 * 1 / 2. * row + 2 * latency));

    // Otherwise a host with h ranks sends h (8 - h) / 8 rows in each phase.
    const auto apart_rows = [](double h) { return 2 * h * (8 - h) / 8; };
    network.in_place = false;
    CHECK(exposed(all) == Approx(apart_rows(4) * row + 2 * latency));
    network.in_place = true;
    work.wire = 0.5;  // encoded rows are not added in place
    CHECK(exposed(all) == Approx(0.5 * apart_rows(4) * row + 2 * latency));
    work.wire = 1;
    for (const std::vector<int>& host : std::vector<std::vector<int>>{
             {0, 1, 0, 1, 0, 1, 0, 1}, {0, 0, 0, 0, 0, 1, 1, 1}, {0, 0, 0, 1, 1, 1, 2, 2}}) {
        network.host = host;
        work.library_sum = false;  // these sums would have other bits than the fixed tree
        const auto first = static_cast<double>(std::count(host.begin(), host.end(), 0));
        CHECK(exposed(all) == Approx(apart_rows(first) * row + 2 * latency));
        work.library_sum = true;
        const double hosts = host.back() + 1;
        CHECK(exposed(all) == Approx(2 * (hosts - 1) / hosts * row + 2 * latency));
    }
    // A host with one rank: the library adds.
    network.host = {0, 0, 0, 0, 0, 0, 0, 1};
    CHECK(exposed(all) == Approx(2 * 7 / 8. * row + 2 * 7 * latency));
}

TEST_CASE("Ranks of a host share its uplink") {
    const double bandwidth = 1e8;
    // With two replicas on each of two hosts, the pairs of shift_one cross the hosts or do not.
    Network shared = apart(4, bandwidth);
    shared.host = {0, 1, 0, 1};
    shared.uplink = bandwidth;
    const Rounds pairs = rounds_of("\"alternating_ring\"", 4);
    // Every pair of a round is on two hosts, so that two messages share each uplink.
    CHECK(step(plain_work(), shared, pairs, Order::adapt_then_combine) ==
          Approx(kCompute + 2 * kRow / bandwidth));
    shared.uplink = 2 * bandwidth;
    CHECK(step(plain_work(), shared, pairs, Order::adapt_then_combine) ==
          Approx(kCompute + kRow / bandwidth));
    shared.host = {0, 0, 0, 0};
    CHECK(step(plain_work(), shared, pairs, Order::adapt_then_combine) == Approx(kCompute));
}

TEST_CASE("Links that vary prolong messages, and computation hides what it can") {
    const double bandwidth = 10e6, message = kRow / bandwidth;
    const Rounds pairs = rounds_of("\"one_way_ring\"", 6), all = plan_all_reduce({6, 6});
    Network network = apart(6, bandwidth);
    network.slowdown.by_peers[1] = Distribution::of_samples({1, 1, 1, 1, 4});
    const double mean = network.slowdown.of(1).mean();
    Work work = plain_work();
    // A rank waits for one message, whose time is that of its sender's links.
    const Outcome exposed = simulate(work, network, pairs, Order::adapt_then_combine, 4000, 1);
    CHECK(exposed.mean() == Approx(kCompute + mean * message).epsilon(0.15));
    CHECK(exposed.mean() > kCompute + mean * message);  // and for ranks that wait themselves
    std::vector<double> steps = exposed.step;
    std::sort(steps.begin(), steps.end());
    CHECK(base::quantile(steps, 0.95) > kCompute + 3 * message);
    // The members of an all-reduce wait for each other: one draw counts, not the largest of six.
    CHECK(simulate(work, network, all, Order::all_reduce, 4000, 1).mean() ==
          Approx(kCompute + 2 * 5 / 6. * mean * message).epsilon(0.02));
    // Messages that take at most as long as computation cost nothing.
    network.remote.bandwidth = network.uplink = 4 * bandwidth;
    CHECK(step(work, network, pairs, Order::combine_while_adapt) == Approx(kCompute));
    // Draws of computation do not depend on those of links.
    work.compute = exponential(kCompute);
    Network constant = network;
    constant.slowdown = {};
    network.remote.bandwidth = network.uplink = constant.remote.bandwidth = constant.uplink = 1e15;
    CHECK(simulate(work, network, pairs, Order::adapt_then_combine, 100, 1).mean() ==
          Approx(simulate(work, constant, pairs, Order::adapt_then_combine, 100, 1).mean()));
}

TEST_CASE("Messages to several hosts at once have a slowdown of their own") {
    const double bandwidth = 10e6, message = kRow / bandwidth;
    Network network = apart(6, bandwidth);
    network.slowdown.by_peers = {
        {1, Distribution(1.5)}, {2, Distribution(2)}, {5, Distribution(3)}};
    const auto exposed = [&](const Work& work, const Rounds& rounds, Order order) {
        return (step(work, network, rounds, order) - kCompute) / message;
    };
    Work work = plain_work();
    const Order order = Order::adapt_then_combine;
    CHECK(exposed(work, rounds_of("\"one_way_ring\"", 6), order) == Approx(1.5));
    CHECK(exposed(work, rounds_of("\"ring\"", 6), order) == Approx(2 * 2));
    const Rounds all = plan_all_reduce({6, 6});
    CHECK(exposed(work, all, Order::all_reduce) == Approx(3 * 2 * 5 / 6.));
    work.library_sum = true;  // a ring: each host sends to the next one only
    CHECK(exposed(work, all, Order::all_reduce) == Approx(1.5 * 2 * 5 / 6.));
    network.slowdown = network.slowdown.means();
    CHECK(exposed(plain_work(), all, Order::all_reduce) == Approx(3 * 2 * 5 / 6.));
    // Two ranks per host: rank 1 of a ring sends to the next host, and rank 0 to the one before.
    network.uplink = 2 * bandwidth;
    network.host = {0, 0, 1, 1, 2, 2};
    CHECK(exposed(plain_work(), rounds_of("\"ring\"", 6), order) == Approx(2));
    network.host = {0, 0, 0, 1, 1, 1};
    CHECK(exposed(plain_work(), rounds_of("\"ring\"", 6), order) == Approx(1.5));
    // Four peers have the slowdown of two, the largest number below that was measured.
    CHECK(network.slowdown.of(4).mean() == 2);
    CHECK(network.slowdown.of(0).mean() == 1.5);
    CHECK(network.slowdown.of(9).mean() == 3);
}

TEST_CASE("Messages of a host that sends to other hosts than before have a further slowdown") {
    const double bandwidth = 10e6, message = kRow / bandwidth;
    Network network = apart(6, bandwidth);
    network.slowdown.after_change = 2;
    const auto exposed = [&](const Rounds& rounds, Order order = Order::adapt_then_combine) {
        return (step(plain_work(), network, rounds, order) - kCompute) / message;
    };
    CHECK(exposed(rounds_of("\"one_way_ring\"", 6)) == Approx(1));
    CHECK(exposed(rounds_of("\"ring\"", 6)) == Approx(2));
    CHECK(exposed(plan_all_reduce({6, 6}), Order::all_reduce) == Approx(2 * 5 / 6.));
    CHECK(exposed(rounds_of("\"alternating_ring\"", 6)) == Approx(2));
    CHECK(exposed(rounds_of("\"one_peer_exponential\"", 6)) == Approx(2));
    network.slowdown = network.slowdown.means();
    CHECK(exposed(rounds_of("\"one_peer_exponential\"", 6)) == Approx(2));
    // Two hosts exchange over aer. At most one of them exchanged in the iteration before.
    const Rounds aer = rounds_of("\"aer\"", 4);
    network = apart(4, bandwidth);
    const double idle_before = exposed(aer);
    network.slowdown.after_change = 2;
    CHECK(exposed(aer) == idle_before);
    network = apart(4, bandwidth);
    // Two hosts have no other host to change to: two messages of factor 1 share each uplink.
    network.host = {0, 1, 0, 1};
    CHECK(exposed(rounds_of("\"alternating_ring\"", 4)) == Approx(2));
    // A host that sends to one of its hosts again keeps a connection busy: the exponential graph
    // with eight replicas sends to three hosts, of which the ring's is one.
    network = apart(8, bandwidth);
    Rounds mixed = rounds_of("\"one_way_ring\"", 8);
    mixed.plans.push_back(rounds_of("\"exponential\"", 8).plans.front());
    mixed.plan_of = {0, 1};
    const double constant = exposed(mixed);
    network.slowdown.after_change = 2;
    CHECK(exposed(mixed) == constant);
}

TEST_CASE("Weighted sums cost a pass over own and neighbours' rows") {
    Work work = plain_work();
    work.row_costs.seconds_per_byte = 1e-9;
    work.row_costs.update = 0.02;
    const Rounds ring = rounds_of("\"ring\"", 4);
    Network network = apart(4, 1e9);
    network.host = {0, 0, 0, 0};
    const double pass = kRow * work.row_costs.seconds_per_byte;
    CHECK(step(work, network, ring, Order::adapt_then_combine) ==
          Approx(kCompute + work.row_costs.update + 4 * pass));
    CHECK(step(work, network, ring, Order::combine_while_adapt) ==
          Approx(kCompute + work.row_costs.update + 2 * pass));
    const Outcome outcome = simulate(work, network, ring, Order::combine_while_adapt, 10, 1);
    CHECK(outcome.exposed == Approx(2 * pass));
}

TEST_CASE("Messages prolong the compute step by their bytes, and rows that are read do not") {
    Work work = plain_work();
    const double each = 1e-8 * kRow;
    work.row_costs.prolongation.measured = {{kRow, each}};
    const Rounds ring = rounds_of("\"ring\"", 4);
    Network network = apart(4, 1e15);
    CHECK(step(work, network, ring, Order::combine_while_adapt) == Approx(kCompute + 2 * each));
    CHECK(step(work, network, plan_all_reduce({4, 4}), Order::all_reduce) ==
          Approx(kCompute + 1.5 * each));
    // Nothing moves while ranks compute.
    CHECK(step(work, network, ring, Order::combine_then_adapt) == Approx(kCompute));
    network.host = {0, 0, 1, 1};  // a rank has one neighbour on its host
    CHECK(step(work, network, ring, Order::combine_while_adapt) == Approx(kCompute + each));
    network.in_place = false;
    network.local.bandwidth = 1e15;
    CHECK(step(work, network, ring, Order::combine_while_adapt) == Approx(kCompute + 2 * each));
    const auto rows = [](const Rounds& rounds, const std::vector<int>& host, bool in_place) {
        return rounds.at(0).rows_in_messages({host, in_place})[0];
    };
    CHECK(rows(ring, network.host, true) == 1);
    CHECK(rows(ring, network.host, false) == 2);
    const Rounds sum = plan_all_reduce({4, 4});
    CHECK(rows(sum, {0, 1, 2, 3}, true) == 1.5);
    CHECK(rows(sum, network.host, false) == 1.5);
    CHECK(rows(sum, network.host, true) == 0.5);  // hosts add first: one row for two ranks
    CHECK(rows(sum, {0, 0, 0, 0}, true) == 0);
    work.sent_in_compute = kRow;  // the measured compute step had one row
    CHECK(step(work, network, ring, Order::combine_while_adapt) == Approx(kCompute + each));
    work.row_costs.prolongation.measured[2 * kRow] = 3 * each;  // two rows were measured, too
    CHECK(step(work, network, ring, Order::combine_while_adapt) == Approx(kCompute + 2 * each));
    work.row_costs.prolongation.measured[kRow] = 10 * kCompute;  // no step takes less than no time
    CHECK(step(work, network, ring, Order::combine_while_adapt) == Approx(0).margin(1e-6));
}

TEST_CASE("A prolongation is linear between what was measured, and does not decrease beyond it") {
    CHECK(Prolongation{}.of(5) == 0);
    const Prolongation one{{{10, 2.0}}};
    CHECK((one.of(0) == 0 && one.of(5) == 1 && one.of(10) == 2 && one.of(30) == 6));
    const Prolongation two{{{10, 2.0}, {20, 3.0}}};
    CHECK((two.of(5) == 1 && two.of(15) == 2.5 && two.of(20) == 3 && two.of(40) == 5));
    const Prolongation less{{{10, 2.0}, {20, 1.0}}};
    CHECK((less.of(15) == 1.5 && less.of(20) == 1 && less.of(40) == 1));
}

TEST_CASE("An all-reduce waits for the maximum of exponential compute steps") {
    const int n = 16;
    Work work = plain_work();
    work.compute = exponential(kCompute);
    Network network = apart(n, 1e15);
    double harmonic = 0;
    for (int k = 1; k <= n; ++k) harmonic += 1.0 / k;
    const Outcome outcome =
        simulate(work, network, plan_all_reduce({n, n}), Order::all_reduce, 20000, 1);
    CHECK(outcome.mean() == Approx(kCompute * harmonic).epsilon(0.02));
    // Neighbours wait for fewer ranks, and ranks that wait for nobody take the mean.
    const Rounds ring = rounds_of("\"ring\"", n);
    const double local = simulate(work, network, ring, Order::adapt_then_combine, 20000, 1).mean();
    CHECK(local < 0.9 * outcome.mean());
    CHECK(local > 1.2 * kCompute);
    CHECK(simulate(work, network, ring, Order::asynchronous, 20000, 1).mean() ==
          Approx(kCompute).epsilon(0.02));
}

TEST_CASE("A delay comes before the compute step, and gradients are complete after both") {
    const double delay = 0.1, bandwidth = 10e6, latency = 1e-3;
    Work work = plain_work();
    work.buckets = {{kRow / 2, 0.5}, {kRow / 2, 1.0}};
    work.row_costs.update = 0.02;
    work.delay = [&](int, int64_t) { return delay; };
    const Rounds ring = rounds_of("\"ring\"", 4);
    const Network network = apart(4, bandwidth, latency);
    const auto outcome = [&](const Network& links, const Rounds& rounds, Order order) {
        return simulate(work, links, rounds, order, 10, 1);
    };
    // Messages of the first half of a row take as long as the rest of backward and more.
    const double first = delay + kCompute / 2 + 0.01, sent = 2 * kRow / bandwidth + latency;
    const Outcome adapted = outcome(network, ring, Order::adapt_then_combine);
    CHECK(adapted.mean() == Approx(first + sent));
    CHECK(adapted.exposed == Approx(first + sent - delay - kCompute - 0.02));
    const double reduced = 2 * 3 / 4. * kRow / bandwidth;
    CHECK(outcome(apart(4, bandwidth), plan_all_reduce({4, 4}), Order::all_reduce).mean() ==
          Approx(delay + kCompute / 2 + reduced + 0.01));
    CHECK(outcome(network, ring, Order::combine_then_adapt).mean() ==
          Approx(sent + delay + kCompute + 0.02));
    const Network fast = apart(4, 1e15);
    for (const Order order : {Order::combine_while_adapt, Order::asynchronous}) {
        CHECK(outcome(fast, ring, order).mean() == Approx(delay + kCompute + 0.02));
        CHECK(outcome(fast, ring, order).exposed == Approx(0).margin(1e-6));
    }
}

TEST_CASE("Asynchronous replicas send over links, and share the uplink of their host") {
    const double bandwidth = 1e6, message = kRow / bandwidth;
    const auto complete = graphs::make_graph("complete", {4, 1});
    const Rounds links = plan_rounds(*complete, {4, 4}, 64, Groups::links);
    CHECK(links.mean_rows_sent() == 12);
    CHECK(plan_rounds(*complete, {4, 4}, 64).mean_rows_sent() == Approx(2 * 3));
    Work work = plain_work();
    CHECK(step(work, apart(4, bandwidth), links, Order::asynchronous) == Approx(3 * message));
    // Each of the two ranks of a host sends a row to the other host.
    const Rounds ring = rounds_of("\"ring\"", 4);
    Network network = apart(4, bandwidth);
    network.host = {0, 0, 1, 1};
    CHECK(step(work, network, ring, Order::asynchronous) == Approx(2 * message));
    network.uplink = 4 * bandwidth;  // a message is not faster than its own link
    CHECK(step(work, network, ring, Order::asynchronous) == Approx(message));
    network.host = {0, 0, 0, 0};
    CHECK(step(work, network, ring, Order::asynchronous) == Approx(kCompute));
    // A replica that averages with one of its two neighbours reads one row, and its own twice.
    work.row_costs.seconds_per_byte = 1e-8;
    work.links_used = 0.5;
    CHECK(step(work, network, ring, Order::asynchronous) == Approx(kCompute + 3 * kRow * 1e-8));
}

TEST_CASE("A rank with fewer replicas computes less") {
    Work work = plain_work();
    work.row_costs.update = 0.02;
    work.rows_per_rank = 3;
    work.shares = {1, 2 / 3.};
    const Network network = apart(2, 1e15);
    const Rounds all = plan_all_reduce({5, 2}), ring = rounds_of("\"ring\"", 5, 2);
    CHECK(step(work, network, all, Order::all_reduce) == Approx(kCompute + 0.02));
    CHECK(step(work, network, ring, Order::asynchronous) == Approx(5 / 6. * (kCompute + 0.02)));
    // A rank reads the rows of neighbours, and its own twice.
    work.row_costs.seconds_per_byte = 1e-8;
    const double pass = kRow * 1e-8;
    const Outcome outcome = simulate(work, network, ring, Order::asynchronous, 1, 1);
    const std::vector<int>& read = ring.at(0).rows_read;
    CHECK(outcome.step[0] == Approx(kCompute + 0.02 + (read[0] + 2 * 3) * pass));
    CHECK(outcome.step[1] == Approx((kCompute + 0.02) * 2 / 3 + (read[1] + 2 * 2) * pass));
}

TEST_CASE("Plans cover a whole period of local steps, even if fewer iterations are requested") {
    const std::shared_ptr<const graphs::Schedule> ring = graphs::make_graph("ring", {4, 1});
    const auto local = graphs::periodic_schedule(ring, graphs::no_exchange_schedule(4), 500, 0);
    const Rounds rounds = plan_rounds(*local, {4, 4}, 300);
    CHECK((rounds.whole && rounds.plans.size() == 2 && rounds.plan_of.size() == 500));
    CHECK(rounds.mean_rows_sent() == Approx(8 / 500.));
    // A random sequence never repeats, and a period with many matrices is not planned as a whole.
    const auto planned = [](const char* type, int n, int64_t iterations) {
        return plan_rounds(*graphs::make_graph(type, {n, 1}), {n, n}, iterations);
    };
    const Rounds random = planned("random_matching", 8, 20);
    CHECK((!random.whole && random.plan_of.size() == 20));
    const Rounds peers = planned("one_peer_exponential", 16, 3);  // of four rounds
    CHECK((!peers.whole && peers.plan_of.size() == 3));
    CHECK(planned("one_peer_exponential", 16, 4).whole);
}

TEST_CASE("The recursion equals a naive one") {
    const int n = 9;
    const int64_t iterations = 40;
    const Rounds rounds = rounds_of("{\"type\": \"erdos_renyi\", \"p\": 0.4}", n);
    Work work = plain_work();
    // Delays are given, so that the naive recursion can use the same ones.
    const auto delay = [](int rank, int64_t t) {
        return std::fmod(0.37 * rank + 0.61 * static_cast<double>(t), 1.0);
    };
    work.delay = delay;
    const Network network = apart(n, 1e15);
    const Outcome outcome =
        simulate(work, network, rounds, Order::adapt_then_combine, iterations, 1);
    std::vector<double> clock(n);
    const int64_t skipped = 16;  // the warm-up
    for (int64_t t = 0; t < iterations + skipped; ++t) {
        std::vector<double> sent(n);
        for (int r = 0; r < n; ++r) sent[r] = clock[r] + kCompute + delay(r, t);
        std::vector<double> next = sent;
        for (int r = 0; r < n; ++r) {
            for (const auto& [to, rows] : rounds.at(t).out[r])
                next[to] = std::max(next[to], sent[r]);
        }
        for (int r = 0; r < n && t >= skipped; ++r) {
            const auto place = static_cast<size_t>((t - skipped) * n + r);
            CHECK(outcome.step[place] == Approx(next[r] - clock[r]));
        }
        clock = next;
    }
}

TEST_CASE("A slow link delays its ends at once, and all others through them") {
    // Rank 0 is on a host of its own, whose messages take longer than a step.
    const int n = 4;
    Network network = apart(n, 2e6);
    network.host = {1, 0, 0, 0};
    const Rounds ring = rounds_of("\"ring\"", n);
    CHECK(step(plain_work(), network, ring, Order::adapt_then_combine) ==
          Approx(kCompute + 2 * kRow / 2e6));
    CHECK(step(plain_work(), network, ring, Order::combine_while_adapt) == Approx(2 * kRow / 2e6));
}

TEST_CASE("Local steps exchange in few iterations, and equal seeds give equal times") {
    const Rounds ring = rounds_of("\"ring\"", 4);
    Work work = plain_work();
    work.compute = exponential(kCompute);
    const Network network = apart(4, 1e7, 1e-4);
    const Outcome one = simulate(work, network, ring, Order::combine_while_adapt, 50, 7);
    const Outcome two = simulate(work, network, ring, Order::combine_while_adapt, 50, 7);
    CHECK(one.step == two.step);
    CHECK(simulate(work, network, ring, Order::combine_while_adapt, 50, 8).step != one.step);
    Rounds local = ring;
    RoundPlan none;
    none.out.resize(4);
    none.rows_read.resize(4);
    none.group_size.resize(4);
    local.plans.push_back(none);
    local.plan_of = {1, 1, 1, 0};
    const double message = 2 * kRow / 1e7 + 1e-4;
    CHECK(step(plain_work(), network, local, Order::adapt_then_combine) ==
          Approx(kCompute + message / 4));
}

TEST_CASE("Several replicas of a rank send only the rows that other ranks use") {
    const Rounds ring = rounds_of("\"ring\"", 8, 2);
    REQUIRE(ring.plans.size() == 1);
    CHECK(ring.plans[0].out[0] == std::vector<std::pair<int, int>>{{1, 2}});
    CHECK(ring.plans[0].rows_read == std::vector<int>{6, 6});
    CHECK(ring.mean_rows_sent() == 16);
    const Rounds complete = rounds_of("\"complete\"", 8, 2);
    CHECK(complete.plans[0].groups == std::vector<std::vector<int>>{{0, 1}});
}
