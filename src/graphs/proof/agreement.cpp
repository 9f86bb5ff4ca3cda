#include "graphs/proof/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "graphs/matrix/matrix.hpp"
#include "graphs/matrix/spectral.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::graphs {
namespace {

constexpr double kMostExaminedRows = 1 << 21;  // rows of all matrices that are examined
constexpr int64_t kExaminedIterations = 1 << 16;
constexpr size_t kMostExaminedRounds = 1024;
constexpr int kMostFollowed = 512;  // replicas up to which a period of several rounds is followed
constexpr double kRoundedZero = 1e-12;  // weights that a diagonal of 0 may have by rounding
constexpr int kDrawnRounds = 64;        // examined rounds of a sequence that is drawn at random

// Parts of the replicas that are connected by links of either direction (union-find).
class Parts {
public:
    explicit Parts(int n) : parent_(n), count_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
    int find(int i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void join(int i, int j) {
        i = find(i), j = find(j);
        if (i == j) return;
        parent_[std::max(i, j)] = std::min(i, j);
        --count_;
    }
    int count() const { return count_; }

private:
    std::vector<int> parent_;
    int count_;
};

// The matrices of one graph. `whole` is true if they are all that the graph ever uses.
struct Examined {
    std::vector<std::shared_ptr<const Matrix>> matrices;
    bool whole = true;
};

Examined examined(const Schedule& graph) {
    Examined out;
    const auto add = [&](Round round) {
        auto matrix = graph.matrix(round);
        if (!matrix) out.whole = false;
        if (matrix) out.matrices.push_back(std::move(matrix));
    };
    const int64_t period = graph.period();
    if (period > 0 && static_cast<double>(period) * graph.size() <= kMostExaminedRows) {
        for (int64_t t = 0; t < period && out.whole; ++t) add(graph.at(t));
    } else if (const auto rounds = graph.rounds(); period == 0 && !rounds.empty()) {
        for (const Round round : rounds) add(round);
    } else {
        out.whole = false;
    }
    return out;
}

template <class Visit>
void for_each_link(const Matrix& matrix, const Visit& visit) {
    for (int i = 0; i < matrix.size(); ++i) {
        for (const Link& link : matrix.in(i)) {
            if (link.peer != i && link.weight != 0) visit(i, link.peer);
        }
    }
}

void join_links(const Matrix& matrix, Parts& parts) {
    if (parts.count() == 1) return;
    for_each_link(matrix, [&parts](int to, int from) { parts.join(to, from); });
}

std::string listed_replicas(const std::vector<int>& replicas) {
    constexpr size_t kMost = 8;
    std::string text = replicas.size() == 1 ? "replica " : "replicas ";
    for (size_t k = 0; k < std::min(replicas.size(), kMost); ++k) {
        text += (k == 0 ? "" : ", ") + std::to_string(replicas[k]);
    }
    return text + (replicas.size() > kMost ? ", ..." : "");
}

// Describes the smallest part of a graph that is in several parts.
AgreementObstacle describe(Parts& parts, int n) {
    std::vector<int> size(n, 0);
    for (int i = 0; i < n; ++i) ++size[parts.find(i)];
    int smallest = -1, alone = 0, last_linked = -1;
    for (int i = 0; i < n; ++i) {
        if (size[i] > 0 && (smallest < 0 || size[i] < size[smallest])) smallest = i;
        if (size[parts.find(i)] == 1) {
            ++alone;
        } else {
            last_linked = i;
        }
    }
    std::vector<int> members;
    for (int i = 0; i < n && members.size() < 9; ++i) {
        if (parts.find(i) == smallest) members.push_back(i);
    }
    const bool single = size[smallest] == 1;
    AgreementObstacle out;
    out.reason = listed_replicas(members) + (single ? " exchanges" : " exchange") +
                 " nothing with the others (the graph of " + std::to_string(n) +
                 " replicas is in " + std::to_string(parts.count()) +
                 " parts), so they never agree";
    out.remedy = "connect the parts";
    if (alone > 0 && last_linked >= 0) {
        const bool above = alone == n - 1 - last_linked;
        const bool zero = alone == 1 && size[0] == 1 && parts.find(0) == 0;
        if (above) {
            out.remedy += ", or set /replicas to " + std::to_string(last_linked + 1);
        } else if (zero) {
            out.remedy += " (replicas count from 0, not from 1)";
        }
    }
    return out;
}

std::vector<bool> reached_from_0(const std::vector<std::shared_ptr<const Matrix>>& matrices,
                                 bool forwards) {
    std::vector<bool> seen(matrices.front()->size(), false);
    std::vector<int> waiting = {0};
    seen[0] = true;
    while (!waiting.empty()) {
        const int i = waiting.back();
        waiting.pop_back();
        for (const auto& matrix : matrices) {
            for (const Link& link : forwards ? matrix->out(i) : matrix->in(i)) {
                if (seen[link.peer] || link.weight == 0) continue;
                seen[link.peer] = true;
                waiting.push_back(link.peer);
            }
        }
    }
    return seen;
}

// Finds two replicas of a graph in one part such that no path leads from one to the other.
std::optional<AgreementObstacle> find_one_way(
    const std::vector<std::shared_ptr<const Matrix>>& matrices) {
    for (const bool forwards : {true, false}) {
        const auto seen = reached_from_0(matrices, forwards);
        const auto missed = std::find(seen.begin(), seen.end(), false);
        if (missed == seen.end()) continue;
        const int other = static_cast<int>(missed - seen.begin());
        return AgreementObstacle{"no path of links leads from replica " +
                                     std::to_string(forwards ? 0 : other) + " to replica " +
                                     std::to_string(forwards ? other : 0) +
                                     ", so what one of them learns never reaches the other",
                                 "add links in the other direction"};
    }
    return {};
}

struct Diagonal {
    bool positive = true, negative = false;
};

Diagonal diagonal_of(const Matrix& matrix) {
    Diagonal out;
    for (int i = 0; i < (matrix.transitive() ? 1 : matrix.size()); ++i) {
        double self = 0;
        for (const Link& link : matrix.in(i)) self = link.peer == i ? link.weight : self;
        out.positive &= self > kRoundedZero;
        out.negative |= self < -kRoundedZero;
    }
    return out;
}

// Returns the greatest common divisor of the lengths of all cycles of a strongly connected graph;
// `reach(i)` lists the replicas to which i leads in one step.
template <class Reach>
int64_t cycle_divisor(int n, const Reach& reach) {
    std::vector<int64_t> level(n, -1);
    std::vector<int> order = {0};
    level[0] = 0;
    int64_t divisor = 0;
    for (size_t k = 0; k < order.size(); ++k) {
        for (const int next : reach(order[k])) {
            if (level[next] < 0) {
                level[next] = level[order[k]] + 1;
                order.push_back(next);
            }
            divisor = std::gcd(divisor, level[order[k]] + 1 - level[next]);
        }
    }
    return order.size() == static_cast<size_t>(n) ? divisor : 0;
}

// Returns the replicas to which i leads along one round after the other.
std::vector<int> reach_of_period(const std::vector<std::shared_ptr<const Matrix>>& matrices,
                                 int i) {
    std::set<int> here = {i};
    for (const auto& matrix : matrices) {
        std::set<int> next;
        for (const int at : here) {
            for (const Link& link : matrix->out(at)) {
                if (std::abs(link.weight) > kRoundedZero) next.insert(link.peer);
            }
        }
        here = std::move(next);
    }
    return {here.begin(), here.end()};
}

// Finds matrices without weights on the diagonal that carry parameters around, such as a rotation.
std::optional<AgreementObstacle> find_rotation(
    const std::vector<std::shared_ptr<const Matrix>>& matrices) {
    bool positive = true, negative = false;
    for (const auto& matrix : matrices) {
        const Diagonal found = diagonal_of(*matrix);
        positive &= found.positive;
        negative |= found.negative;
    }
    if (positive) return {};
    const int n = matrices.front()->size();
    const char* remedy = "give replicas a weight for themselves, such as by \"lazy\": 0.5";
    if (negative) {
        if (matrices.size() > 1) return {};
        const auto least = lambda_min(matrices.front());
        if (!least || *least > -1 + 1e-12) return {};
        return AgreementObstacle{
            "the weights are so large that averaging does not reduce disagreement "
            "(the mixing matrix has an eigenvalue of -1 or below)",
            "use smaller weights, or a rule such as \"weights\": \"metropolis\""};
    }
    if (matrices.size() > 1 && n > kMostFollowed) return {};
    const int64_t divisor =
        cycle_divisor(n, [&matrices](int i) { return reach_of_period(matrices, i); });
    if (divisor == 1) return {};
    return AgreementObstacle{
        divisor == 0 ? "replicas pass their parameters around in separate circles"
                     : "replicas only pass their parameters around (in " + std::to_string(divisor) +
                           " groups that take turns: a spectral gap of "
                           "0), so they never agree",
        remedy};
}

// Judges a sequence that is drawn at random, by its expectation or by some of its rounds.
std::optional<AgreementObstacle> find_in_drawn(const Schedule& graph) {
    const Schedule* source = graph.drawn_from();
    if (source) {
        if (auto found = find_disagreement(*source)) return found;
    }
    if (graph.period() != 0) return {};
    for (int t = 0; t < kDrawnRounds; ++t) {
        const auto matrix = graph.matrix(graph.at(t));
        if (!matrix) return {};
        for (int i = 0; i < matrix->size(); ++i) {
            if (matrix->in(i).size() > 1) return {};
        }
    }
    return AgreementObstacle{"no replica exchanges anything",
                             "let at least two replicas take part"};
}

}  // namespace

std::optional<AgreementObstacle> find_disagreement(const Schedule& graph) {
    if (graph.size() == 1) return {};
    std::vector<const Schedule*> parts;
    if (const StagedSchedule* staged = graph.staged()) {
        for (size_t k = 0; k < staged->graphs(); ++k) parts.push_back(&staged->graph(k));
    } else {
        parts.push_back(&graph);
    }
    Parts all(graph.size());
    std::optional<AgreementObstacle> first;
    for (const Schedule* part : parts) {
        const Examined found = examined(*part);
        if (!found.whole) {
            const auto drawn = find_in_drawn(*part);
            if (!drawn) return {};
            if (!first) first = drawn;
            if (const Schedule* source = part->drawn_from()) {
                for (const auto& matrix : examined(*source).matrices) join_links(*matrix, all);
            }
            continue;
        }
        Parts own(graph.size());
        for (const auto& matrix : found.matrices) {
            join_links(*matrix, own);
            join_links(*matrix, all);
        }
        if (own.count() > 1) {
            if (!first) first = describe(own, graph.size());
            continue;
        }
        auto problem = find_one_way(found.matrices);
        if (!problem) problem = find_rotation(found.matrices);
        if (!problem) return {};
        if (!first) first = problem;
    }
    if (parts.size() > 1 && all.count() == 1) return {};
    return parts.size() > 1 ? describe(all, graph.size()) : first;
}

bool connects_all(const Schedule& used) {
    Parts parts(used.size());
    std::set<uint64_t> seen;
    for (int64_t t = 0; t < kExaminedIterations && seen.size() < kMostExaminedRounds; ++t) {
        const Round round = used.at(t);
        if (!seen.insert(round.matrix).second) continue;
        for (int i = 0; i < used.size() && parts.count() > 1; ++i) {
            for (const Link& link : used.in(round, i)) {
                if (link.weight != 0) parts.join(i, link.peer);
            }
        }
        if (parts.count() == 1) return true;
    }
    return false;
}

}  // namespace dbench::graphs
