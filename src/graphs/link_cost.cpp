#include "graphs/link_cost.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/error.hpp"
#include "base/streams.hpp"

namespace dbench::graphs {
namespace {

constexpr int64_t kSampledRounds = 64, kLongestPeriod = 4096;
constexpr int kExhaustiveRanks = 8;  // most ranks for which all placements are tried

RankTraffic::Round round_of(const Schedule& schedule, Round round, const std::vector<int>& rank_of,
                            int ranks) {
    RankTraffic::Round out{0, {}, {}};
    std::vector<bool> grouped(rank_of.size(), false);
    for (const auto& group : schedule.groups(round)) {
        std::set<int> members;
        for (const int i : group) {
            grouped[i] = true;
            members.insert(rank_of[i]);
        }
        if (members.size() > 1) out.groups.emplace_back(members.begin(), members.end());
    }
    std::vector<std::map<int, int>> rows(ranks);
    for (int i = 0; i < schedule.size(); ++i) {
        if (grouped[i]) continue;
        std::set<int> to;
        for (const Link& link : schedule.out(round, i)) to.insert(rank_of[link.peer]);
        to.erase(rank_of[i]);
        for (const int rank : to) ++rows[rank_of[i]][rank];
    }
    for (const auto& row : rows) out.out.emplace_back(row.begin(), row.end());
    return out;
}

// True if the placement cannot change the round's cost: all-reduces among all ranks.
bool same_everywhere(const RankTraffic::Round& round, int ranks) {
    const auto sends = [](const auto& out) { return !out.empty(); };
    return std::none_of(round.out.begin(), round.out.end(), sends) &&
           std::all_of(round.groups.begin(), round.groups.end(),
                       [&](const auto& group) { return static_cast<int>(group.size()) == ranks; });
}

// Returns the seconds that a member of an all-reduce needs. slot_of(member) is its slot.
template <class SlotOf>
double member_seconds(const Links& links, std::span<const int> members, int i, double bytes,
                      const SlotOf& slot_of) {
    const double part = bytes / static_cast<double>(members.size());
    double sum = 0;
    for (const int j : members) {
        if (j != i) sum += 2 * links.seconds(slot_of(i), slot_of(j), part);
    }
    return sum;
}

struct Score {
    double worst = 0;  // the cost: mean over rounds of the slowest rank's seconds
    double all = 0;    // sum over all ranks: guides the first phase of the search
};

Score score(const RankTraffic& traffic, const Links& links, double bytes, const Slots& slot) {
    Score result;
    const auto slot_of = [&](int rank) { return slot[rank]; };
    std::vector<double> seconds(traffic.ranks);
    for (const RankTraffic::Round& round : traffic.rounds) {
        std::fill(seconds.begin(), seconds.end(), 0.0);
        for (size_t r = 0; r < round.out.size(); ++r) {
            for (const auto& [to, rows] : round.out[r]) {
                seconds[r] += rows * links.seconds(slot[r], slot[to], bytes);
            }
        }
        for (const auto& group : round.groups) {
            for (const int i : group) seconds[i] += member_seconds(links, group, i, bytes, slot_of);
        }
        result.worst += round.share * *std::max_element(seconds.begin(), seconds.end());
        for (const double each : seconds) result.all += round.share * each;
    }
    return result;
}

// True if a is below b by more than rounding.
bool less(double a, double b) { return a < b * (1 - 1e-12); }

bool better(const Score& a, const Score& b, bool all_first) {
    const double a1 = all_first ? a.all : a.worst, b1 = all_first ? b.all : b.worst;
    if (less(a1, b1)) return true;
    return !less(b1, a1) && less(all_first ? a.worst : a.all, all_first ? b.worst : b.all);
}

struct Search {
    const RankTraffic& traffic;
    const Links& links;
    double bytes;
    Slots best;
    Score least;

    Score of(const Slots& slot) const { return score(traffic, links, bytes, slot); }

    void keep(const Slots& slot) {
        const Score now = of(slot);
        if (!less(now.worst, least.worst)) return;
        best = slot;
        least = now;
    }

    // Exchanges pairs of ranks and keeps each exchange that is no worse.
    void improve(Slots& slot, base::Random& random, int64_t trials, bool all_first) const {
        const auto n = static_cast<uint64_t>(slot.size());
        Score now = of(slot);
        for (int64_t t = 0; t < trials; ++t) {
            const uint64_t a = random.below(n), b = (a + 1 + random.below(n - 1)) % n;
            std::swap(slot[a], slot[b]);
            const Score then = of(slot);
            if (better(now, then, all_first)) {
                std::swap(slot[a], slot[b]);
            } else {
                now = then;
            }
        }
    }
};

// Returns the number of evaluations: as many as fit in a second or two, at most those of a thorough
// search.
int64_t trials_for(const RankTraffic& traffic) {
    double work = 1;
    for (const auto& round : traffic.rounds) {
        work += traffic.ranks;
        for (const auto& out : round.out) work += static_cast<double>(out.size());
        for (const auto& group : round.groups) {
            work += static_cast<double>(group.size()) * static_cast<double>(group.size());
        }
    }
    const double thorough = 20.0 * traffic.ranks * traffic.ranks;
    return static_cast<int64_t>(std::clamp(5e7 / work, 200.0, thorough));
}

}  // namespace

RankTraffic rank_traffic(const Schedule& schedule, const std::vector<int>& rank_of,
                         int64_t iterations) {
    RankTraffic traffic;
    traffic.ranks = 1 + *std::max_element(rank_of.begin(), rank_of.end());
    const int64_t period = schedule.period();
    const bool whole = period > 0 && period <= kLongestPeriod;
    const int64_t count =
        whole ? period : std::min(kSampledRounds, std::max<int64_t>(1, iterations));
    std::map<uint64_t, size_t> known;  // index in traffic.rounds by matrix
    for (int64_t k = 0; k < count; ++k) {
        const Round round = schedule.at(whole ? k : k * iterations / count);
        const auto [found, first] = known.emplace(round.matrix, traffic.rounds.size());
        if (first) traffic.rounds.push_back(round_of(schedule, round, rank_of, traffic.ranks));
        traffic.rounds[found->second].share += 1.0 / static_cast<double>(count);
    }
    return traffic;
}

RankTraffic all_reduce_traffic(int ranks) {
    RankTraffic traffic{ranks, {{1, {}, {}}}};
    if (ranks == 1) return traffic;
    traffic.rounds[0].groups.emplace_back();
    for (int rank = 0; rank < ranks; ++rank) traffic.rounds[0].groups[0].push_back(rank);
    return traffic;
}

double link_cost(const RankTraffic& traffic, const Links& links, double row_bytes,
                 const Slots& slot) {
    DBENCH_EXPECT(links.slots >= traffic.ranks);
    DBENCH_EXPECT(static_cast<int>(slot.size()) == traffic.ranks);
    return score(traffic, links, row_bytes, slot).worst;
}

Slots cheapest_placement(const RankTraffic& traffic, const Links& links, double row_bytes,
                         uint64_t seed) {
    DBENCH_EXPECT(links.slots >= traffic.ranks);
    RankTraffic matters{traffic.ranks, {}};
    for (const auto& round : traffic.rounds) {
        if (!same_everywhere(round, traffic.ranks)) matters.rounds.push_back(round);
    }
    const Slots linear = linear_placement(traffic.ranks);
    if (matters.rounds.empty() || traffic.ranks == 1) return linear;
    Search search{matters, links, row_bytes, linear, {}};
    search.least = search.of(linear);
    if (traffic.ranks <= kExhaustiveRanks) {
        Slots slot = linear;
        while (std::next_permutation(slot.begin(), slot.end())) search.keep(slot);
        return search.best;
    }
    auto random = base::random_stream(seed, base::PlacementStream::search);
    constexpr int kStarts = 4;
    const int64_t trials = trials_for(matters) / kStarts;
    for (int start = 0; start < kStarts; ++start) {
        Slots slot = linear;
        if (start > 0) {
            const auto order = base::permutation(traffic.ranks, random);
            slot.assign(order.begin(), order.end());
        }
        search.improve(slot, random, trials, true);
        search.improve(slot, random, trials, false);
        search.keep(slot);
    }
    return search.best;
}

}  // namespace dbench::graphs
