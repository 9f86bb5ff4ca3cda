// The rounds of H_k, Simple Base-(k+1) and Base-(k+1) (Takezawa et al. 2023, arXiv 2305.11420),
// from which base_k.cpp makes graphs.
//
// Simple Base-(k+1): n = sum_l a_l (k+1)^{p_l}, p_1 > p_2 > ...; the nodes V are cut in order into
// blocks V_l of a_l parts. Then
//
//     A   every V_l averages internally, by H_k(V_l)
//     B   round l: each node of V_j, j > l, exchanges with its own node of each part of V_l;
//         the weight is |V_l| / (a_l S_l), S_l = sum_{j >= l} |V_j|
//     C   every part of V_l averages internally, by H_k
//
// Base-(k+1): n = p q, where q has no prime factors up to k + 1: p blocks of q nodes by Simple
// Base, then H_k across the blocks.

#include "graphs/types/base_graph.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"

namespace dbench::graphs {
namespace {

using Nodes = std::vector<int>;

// Returns the fewest factors in 2..most whose product is n (n's primes are at most `most`).
std::vector<int64_t> fewest_factors(int64_t n, int64_t most,
                                    std::map<int64_t, std::vector<int64_t>>& known) {
    if (n == 1) return {};
    if (const auto found = known.find(n); found != known.end()) return found->second;
    std::vector<int64_t> best;
    for (int64_t factor = std::min(n, most); factor >= 2; --factor) {
        if (n % factor != 0) continue;
        auto rest = fewest_factors(n / factor, most, known);
        if (!best.empty() && rest.size() + 1 >= best.size()) continue;
        rest.push_back(factor);
        best = std::move(rest);
    }
    return known[n] = best;
}

void join_all(const Nodes& group, WeightedRound& round) {
    const double share = 1.0 / static_cast<double>(group.size());
    for (size_t x = 0; x < group.size(); ++x) {
        for (size_t y = x + 1; y < group.size(); ++y) {
            round.push_back({group[x], group[y], share});
        }
    }
}

Nodes slice(const Nodes& nodes, size_t first, size_t count) {
    return {nodes.begin() + static_cast<std::ptrdiff_t>(first),
            nodes.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

void append(WeightedRound& round, const WeightedRound& more) {
    round.insert(round.end(), more.begin(), more.end());
}

// The block V_l: `parts` sets of (k+1)^p nodes each.
struct Block {
    std::vector<Nodes> parts;
    Nodes all;
};

// Cuts the nodes in order along the digits of their number in base k + 1, highest digit first.
std::vector<Block> cut(const Nodes& nodes, int64_t k) {
    int64_t power = 1;
    const auto n = static_cast<int64_t>(nodes.size());
    while (power <= n / (k + 1)) power *= k + 1;
    std::vector<Block> blocks;
    size_t first = 0;
    for (int64_t left = n; power >= 1; power /= k + 1) {
        const int64_t digit = left / power;
        left -= digit * power;
        if (digit == 0) continue;
        Block& block = blocks.emplace_back();
        block.all = slice(nodes, first, static_cast<size_t>(digit * power));
        for (int64_t i = 0; i < digit; ++i) {
            block.parts.push_back(slice(nodes, first, static_cast<size_t>(power)));
            first += static_cast<size_t>(power);
        }
    }
    return blocks;
}

// Returns one round of stage B: every node of the later blocks exchanges with its own node of each
// part of block l.
WeightedRound hand_over(const std::vector<Block>& blocks, size_t l) {
    Nodes rest;
    for (size_t j = l + 1; j < blocks.size(); ++j) {
        rest.insert(rest.end(), blocks[j].all.begin(), blocks[j].all.end());
    }
    const auto& block = blocks[l];
    const auto size = static_cast<double>(block.all.size());
    const double weight = size / (static_cast<double>(block.parts.size()) *
                                  (size + static_cast<double>(rest.size())));
    WeightedRound round;
    for (size_t v = 0; v < rest.size(); ++v) {
        for (const Nodes& part : block.parts) round.push_back({part[v], rest[v], weight});
    }
    return round;
}

}  // namespace

bool smooth(int64_t n, int64_t k) {
    for (int64_t factor = 2; factor <= k + 1 && n > 1; ++factor) {
        while (n % factor == 0) n /= factor;
    }
    return n == 1;
}

std::vector<WeightedRound> hyper_hypercube(const Nodes& nodes, int64_t k) {
    DBENCH_EXPECT(smooth(static_cast<int64_t>(nodes.size()), k));
    const auto n = static_cast<int64_t>(nodes.size());
    std::map<int64_t, std::vector<int64_t>> known;
    std::vector<WeightedRound> rounds;
    int64_t stride = 1;
    for (const int64_t factor : fewest_factors(n, k + 1, known)) {
        WeightedRound& round = rounds.emplace_back();
        for (int64_t i = 0; i < n; ++i) {
            if (i / stride % factor != 0) continue;  // not the first node of its group
            Nodes group;
            for (int64_t s = 0; s < factor; ++s) group.push_back(nodes[i + s * stride]);
            join_all(group, round);
        }
        stride *= factor;
    }
    return rounds;
}

std::vector<WeightedRound> simple_base(const Nodes& nodes, int64_t k) {
    if (smooth(static_cast<int64_t>(nodes.size()), k)) return hyper_hypercube(nodes, k);
    const auto blocks = cut(nodes, k);
    const auto inside = hyper_hypercube(blocks.front().all, k).size();
    const auto after = hyper_hypercube(blocks.front().parts.front(), k).size();
    std::vector<WeightedRound> rounds(inside + 1 + after);
    for (size_t l = 0; l < blocks.size(); ++l) {
        // A: every block computes its own mean. A block with fewer rounds repeats them, which
        // changes nothing.
        const auto own = hyper_hypercube(blocks[l].all, k);
        for (size_t t = 0; t < inside && !own.empty(); ++t) append(rounds[t], own[t % own.size()]);
        if (l + 1 == blocks.size()) break;
        // B: the later blocks receive block l's mean; the parts of block l receive the correction
        // of theirs.
        append(rounds[inside + l], hand_over(blocks, l));
        // C: each part spreads the correction internally.
        for (const Nodes& part : blocks[l].parts) {
            const auto spread = hyper_hypercube(part, k);
            for (size_t t = 0; t < spread.size(); ++t)
                append(rounds[inside + l + 1 + t], spread[t]);
        }
    }
    return rounds;
}

std::vector<WeightedRound> base_graph(int n, int64_t k) {
    Nodes all(n);
    std::iota(all.begin(), all.end(), 0);
    auto simple = simple_base(all, k);
    int rest = n;  // n without its prime factors up to k + 1
    for (int64_t factor = 2; factor <= k + 1 && factor <= rest; ++factor) {
        while (rest % factor == 0) rest = static_cast<int>(rest / factor);
    }
    const int blocks = n / rest;
    std::vector<WeightedRound> rounds;
    for (int b = 0; b < blocks; ++b) {
        const auto inside = simple_base(slice(all, static_cast<size_t>(b) * rest, rest), k);
        rounds.resize(inside.size());
        for (size_t t = 0; t < inside.size(); ++t) append(rounds[t], inside[t]);
    }
    const auto within = rounds.size();
    for (int position = 0; position < rest; ++position) {
        Nodes across;
        for (int b = 0; b < blocks; ++b) across.push_back(b * rest + position);
        const auto spread = hyper_hypercube(across, k);
        rounds.resize(within + spread.size());
        for (size_t t = 0; t < spread.size(); ++t) append(rounds[within + t], spread[t]);
    }
    return simple.size() < rounds.size() ? simple : rounds;
}

}  // namespace dbench::graphs
