// The cost of placements on links of different speed, and the cheapest placement.

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/random.hpp"
#include "dense.hpp"
#include "graphs/link_cost.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;

namespace {

Links random_links(int slots, uint64_t seed) {
    base::Random random(seed, base::Purpose::graph);
    Links links(slots);
    for (double& each : links.latency) each = 1e-3 * random.uniform();
    for (double& each : links.bandwidth) each = 1e8 * (0.1 + random.uniform());
    return links;
}

// Returns links of two cities: even slots are in one, odd slots in the other.
Links two_cities(int slots) {
    Links links(slots);
    for (int from = 0; from < slots; ++from) {
        for (int to = 0; to < slots; ++to) {
            const bool far = (from + to) % 2 == 1;
            links.latency[links.at(from, to)] = far ? 0.1 : 0.001;
            links.bandwidth[links.at(from, to)] = far ? 1e6 : 1e9;
        }
    }
    return links;
}

std::vector<int> one_each(int n) { return linear_placement(n); }

// Computes the cost from its definition and the matrices: mean over the rounds of the slowest
// replica.
double cost_by_definition(const Schedule& schedule, const Links& links, double bytes,
                          const Slots& slot) {
    const int n = schedule.size();
    const int64_t rounds = schedule.period();
    double sum = 0;
    for (int64_t t = 0; t < rounds; ++t) {
        const Eigen::MatrixXd w = dense(schedule, schedule.at(t));
        double worst = 0;
        for (int i = 0; i < n; ++i) {
            double seconds = 0;
            for (int j = 0; j < n; ++j) {
                if (j != i && w(j, i) != 0) seconds += links.seconds(slot[i], slot[j], bytes);
            }
            worst = std::max(worst, seconds);
        }
        sum += worst;
    }
    return sum / static_cast<double>(rounds);
}

// The links of DT-FM's five cases (its config.py), converted from milliseconds and Gbit/s to
// seconds and bytes per second.
constexpr int kDevices = 64;

Links case_links(const std::function<std::pair<double, double>(int, int)>& pair) {
    Links links(kDevices);
    for (int from = 0; from < kDevices; ++from) {
        for (int to = 0; to < kDevices; ++to) {
            const auto [milliseconds, gigabits] = pair(from, to);
            links.latency[links.at(from, to)] = milliseconds / 1e3;
            links.bandwidth[links.at(from, to)] = gigabits * 1e9 / 8;
        }
    }
    return links;
}

using Pairs = std::map<std::pair<std::string, std::string>, std::pair<double, double>>;

Links of_places(const std::vector<std::string>& places, const Pairs& pairs) {
    const int each = kDevices / static_cast<int>(places.size());
    return case_links([&, each](int from, int to) -> std::pair<double, double> {
        const std::string &a = places[from / each], &b = places[to / each];
        if (a == b) return {5, 2};
        const auto found = pairs.find({a, b});
        return found != pairs.end() ? found->second : pairs.at({b, a});
    });
}

Links dtfm_case(int number) {
    if (number == 0) {
        return case_links(
            [](int a, int b) { return std::pair(0.0, a / 8 == b / 8 ? 100 : 3.125); });
    }
    if (number == 1) {
        return case_links(
            [](int a, int b) { return std::pair(0.0, a / 4 == b / 4 && a < 32 ? 100 : 1.25); });
    }
    if (number == 2) {
        return case_links([](int a, int b) {
            return a / 32 == b / 32 ? std::pair(1.0, 5.0) : std::pair(11.0, 1.12);
        });
    }
    if (number == 3) {
        return of_places({"Virginia", "Oregon", "California", "Ohio"},
                         {{{"Virginia", "Oregon"}, {67, 1.15}},
                          {{"Virginia", "California"}, {59, 1.05}},
                          {{"Virginia", "Ohio"}, {11, 1.12}},
                          {{"Oregon", "California"}, {12, 1.25}},
                          {{"Oregon", "Ohio"}, {49, 1.10}},
                          {{"California", "Ohio"}, {52, 1.02}}});
    }
    return of_places(
        {"Oregon", "Virginia", "Ohio", "Tokyo", "Seoul", "London", "Frankfurt", "Ireland"},
        {{{"Oregon", "Virginia"}, {67, 0.79}},  {{"Oregon", "Ohio"}, {49, 1.10}},
         {{"Oregon", "Tokyo"}, {96, 0.523}},    {{"Oregon", "Seoul"}, {124, 0.46}},
         {{"Oregon", "London"}, {136, 0.42}},   {{"Oregon", "Frankfurt"}, {143, 0.404}},
         {{"Oregon", "Ireland"}, {124, 0.482}}, {{"Virginia", "Ohio"}, {11, 1.12}},
         {{"Virginia", "Tokyo"}, {143, 0.524}}, {{"Virginia", "Seoul"}, {172, 0.500}},
         {{"Virginia", "London"}, {76, 1.16}},  {{"Virginia", "Frankfurt"}, {90, 1.02}},
         {{"Virginia", "Ireland"}, {67, 1.05}}, {{"Ohio", "Tokyo"}, {130, 0.694}},
         {{"Ohio", "Seoul"}, {159, 0.529}},     {{"Ohio", "London"}, {86, 1.05}},
         {{"Ohio", "Frankfurt"}, {99, 0.799}},  {{"Ohio", "Ireland"}, {77, 1.14}},
         {{"Tokyo", "Seoul"}, {34, 1.10}},      {{"Tokyo", "London"}, {210, 0.366}},
         {{"Tokyo", "Frankfurt"}, {223, 0.36}}, {{"Tokyo", "Ireland"}, {199, 0.465}},
         {{"Seoul", "London"}, {238, 0.342}},   {{"Seoul", "Frankfurt"}, {235, 0.358}},
         {{"Seoul", "Ireland"}, {228, 0.335}},  {{"London", "Frankfurt"}, {14, 1.14}},
         {{"London", "Ireland"}, {12, 1.09}},   {{"Frankfurt", "Ireland"}, {24, 1.08}}});
}

// DT-FM's task: gradients of 3 of GPT-3 XL's 24 layers in float32.
constexpr double kGradient = 1.3e9 * 4 * 3 / 24;

// Groups the 64 devices into eight groups of eight: consecutive devices ("blocks"), one of each
// eight ("strided"), or every 37th ("mixed").
std::vector<std::vector<int>> stages(const std::string& order) {
    std::vector<std::vector<int>> all(8);
    for (int k = 0; k < kDevices; ++k) {
        const int device = order == "blocks"    ? k
                           : order == "strided" ? 8 * (k % 8) + k / 8
                                                : k * 37 % kDevices;
        all[k / 8].push_back(device);
    }
    return all;
}

}  // namespace

TEST_CASE("the cost of a ring is that of its slowest replica", "[graphs]") {
    Links links(3);
    links.latency = {0, 1, 2, 3, 0, 4, 5, 6, 0};
    links.bandwidth = {1, 10, 20, 10, 1, 40, 50, 100, 1};
    const auto ring = make("one_way_ring", 3);  // i sends to i + 1
    const auto traffic = rank_traffic(*ring, one_each(3));
    // 0 -> 1: 1 + 100/10, 1 -> 2: 4 + 100/40, 2 -> 0: 5 + 100/50
    CHECK(link_cost(traffic, links, 100, {0, 1, 2}) == Approx(11));
    // 0 -> 2: 2 + 5, 2 -> 1: 6 + 1, 1 -> 0: 3 + 10
    CHECK(link_cost(traffic, links, 100, {0, 2, 1}) == Approx(13));
    CHECK(cheapest_placement(traffic, links, 100, 1) == Slots{0, 1, 2});
    CHECK(link_cost(traffic, links, 0, {0, 1, 2}) == Approx(5));
}

TEST_CASE("a row that several replicas of a rank use is sent to that rank once", "[graphs]") {
    const auto star = make("star", 5);  // 0 exchanges with all
    const auto traffic = rank_traffic(*star, {0, 0, 1, 1, 1});
    REQUIRE(traffic.ranks == 2);
    REQUIRE(traffic.rounds.size() == 1);
    CHECK(traffic.rounds[0].out[0] == std::vector<std::pair<int, int>>{{1, 1}});
    CHECK(traffic.rounds[0].out[1] == std::vector<std::pair<int, int>>{{0, 3}});
    Links links(2);
    links.latency = {0, 1, 10, 0};
    CHECK(link_cost(traffic, links, 0, {0, 1}) == 30);
    CHECK(link_cost(traffic, links, 0, {1, 0}) == 10);  // the three rows use the fast link
    CHECK(cheapest_placement(traffic, links, 0, 1) == Slots{1, 0});
}

TEST_CASE("groups cost as much as DT-FM's all-reduce", "[graphs]") {
    const Links links = random_links(4, 5);
    const double bytes = 1e6;
    double worst = 0;
    for (const int i : {0, 1, 3}) {
        double sum = 0;
        for (const int j : {0, 1, 3}) {
            const size_t at = links.at(i, j);
            if (i != j) sum += 2 * (links.latency[at] + bytes / (links.bandwidth[at] * 3));
        }
        worst = std::max(worst, sum);
    }
    CHECK(link_cost(all_reduce_traffic(3), links, bytes, {3, 0, 1}) == Approx(worst));
    const auto complete = make("complete", 3);
    CHECK(link_cost(rank_traffic(*complete, one_each(3)), links, bytes, {1, 3, 0}) ==
          Approx(worst));
    // Replicas of one rank need no message in any graph.
    CHECK(link_cost(rank_traffic(*complete, {0, 0, 0}), links, bytes, {2}) == 0);
    CHECK(link_cost(all_reduce_traffic(1), links, bytes, {2}) == 0);
}

TEST_CASE("the cost is the mean over the iterations of a period", "[graphs]") {
    const Links links = random_links(8, 3);
    for (const auto* type : {"one_peer_exponential", "ring", "torus", "exponential", "base_k"}) {
        const auto schedule = make(type, 8);
        const auto traffic = rank_traffic(*schedule, one_each(8));
        double share = 0;
        bool groups = false;
        for (const auto& round : traffic.rounds) {
            share += round.share;
            groups |= !round.groups.empty();
        }
        INFO(type);
        CHECK(share == Approx(1));
        if (groups) continue;
        const Slots slot = random_placement(8, 7);
        CHECK(link_cost(traffic, links, 1e6, slot) ==
              Approx(cost_by_definition(*schedule, links, 1e6, slot)));
    }
}

TEST_CASE("up to eight ranks the cheapest placement is the best of all permutations", "[graphs]") {
    for (const auto* type : {"ring", "star", "path", "one_way_ring", "one_peer_exponential"}) {
        const int n = 6;
        const auto schedule = make(type, n);
        const auto traffic = rank_traffic(*schedule, one_each(n));
        bool groups = false;
        for (const auto& round : traffic.rounds) groups |= !round.groups.empty();
        REQUIRE_FALSE(groups);
        for (const uint64_t seed : {1, 2, 3}) {
            const Links links = random_links(n, seed);
            Slots slot = linear_placement(n);
            double least = 1e9;
            do {
                least = std::min(least, cost_by_definition(*schedule, links, 1e6, slot));
            } while (std::next_permutation(slot.begin(), slot.end()));
            const Slots found = cheapest_placement(traffic, links, 1e6, seed);
            INFO(type << ", seed " << seed);
            CHECK(cost_by_definition(*schedule, links, 1e6, found) == Approx(least));
        }
    }
}

TEST_CASE("the cheapest placement never costs more than the linear one", "[graphs]") {
    for (const auto* type :
         {"ring", "torus", "exponential", "one_peer_exponential", "star", "complete",
          "random_matching", R"({"type":"aer","gpus_per_node":4})"}) {
        for (const int n : {1, 4, 8, 24}) {
            const auto schedule = make(type, n);
            const auto traffic = rank_traffic(*schedule, one_each(n));
            const Links links = random_links(n, 11);
            const Slots found = cheapest_placement(traffic, links, 1e6, 1);
            Slots sorted = found;
            std::sort(sorted.begin(), sorted.end());
            INFO(type << ", n = " << n);
            CHECK(sorted == linear_placement(n));
            CHECK(link_cost(traffic, links, 1e6, found) <=
                  link_cost(traffic, links, 1e6, linear_placement(n)));
            CHECK(found == cheapest_placement(traffic, links, 1e6, 1));
        }
    }
    // If all links are equal, nothing is moved.
    CHECK(cheapest_placement(rank_traffic(*make("ring", 12), one_each(12)), Links(12), 1e6, 1) ==
          linear_placement(12));
}

TEST_CASE("a ring over two cities crosses between them twice", "[graphs]") {
    const int n = 16;
    const Links links = two_cities(n);
    const auto traffic = rank_traffic(*make("ring", n), one_each(n));
    // In linear order both neighbours of a replica are far; at best only one of them is.
    const double near = 0.001 + 1e-3, far = 0.1 + 1;
    CHECK(link_cost(traffic, links, 1e6, linear_placement(n)) == Approx(2 * far));
    const Slots found = cheapest_placement(traffic, links, 1e6, 1);
    CHECK(link_cost(traffic, links, 1e6, found) == Approx(near + far));
    int crossings = 0;
    for (int i = 0; i < n; ++i) crossings += (found[i] + found[(i + 1) % n]) % 2;
    CHECK(crossings >= 2);
    CHECK(crossings < n);
}

// The numbers are those of the authors' code (DS3Lab/DT-FM) for these groups.
TEST_CASE("DT-FM's five cases cost the same as with its authors' code", "[graphs]") {
    const struct {
        int number;
        std::string order;
        double all_reduce;
    } published[] = {
        {0, "blocks", 0.091},
        {0, "strided", 2.912},
        {0, "mixed", 2.912},
        {1, "blocks", 7.28},
        {1, "strided", 7.28},
        {2, "blocks", 1.834},
        {2, "strided", 5.516857142857143},
        {2, "mixed", 6.437571428571429},
        {3, "blocks", 4.62},
        {3, "strided", 8.342084542908072},
        {3, "mixed", 8.975719887955183},
        {4, "blocks", 4.62},
        {4, "strided", 22.758423578824242},
        {4, "mixed", 25.785774987649337},
    };
    for (const auto& each : published) {
        const Links links = dtfm_case(each.number);
        const auto groups = stages(each.order);
        double all_reduce = 0;
        for (const auto& group : groups) {
            const RankTraffic traffic = all_reduce_traffic(static_cast<int>(group.size()));
            all_reduce = std::max(all_reduce, link_cost(traffic, links, kGradient, group));
        }
        INFO("case " << each.number << ", " << each.order);
        CHECK(all_reduce == Approx(each.all_reduce).epsilon(1e-9));
    }
}

TEST_CASE("the search improves a scrambled ring on DT-FM's eight cities", "[graphs]") {
    const Links cities = dtfm_case(4);
    Links links = cities;
    for (int a = 0; a < kDevices; ++a) {  // slot s is device 37 s: neighbours are far apart
        for (int b = 0; b < kDevices; ++b) {
            const size_t from = cities.at(a * 37 % kDevices, b * 37 % kDevices);
            links.latency[links.at(a, b)] = cities.latency[from];
            links.bandwidth[links.at(a, b)] = cities.bandwidth[from];
        }
    }
    const auto traffic = rank_traffic(*make("ring", kDevices), one_each(kDevices));
    const Slots found = cheapest_placement(traffic, links, 1e8, 1);
    CHECK(link_cost(traffic, links, 1e8, found) <
          link_cost(traffic, links, 1e8, linear_placement(kDevices)));
}
