#include "graphs/schedules/chosen.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.hpp"
#include "graphs/schedules/sequence.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::graphs {
namespace {

class Chosen final : public Schedule {
public:
    Chosen(std::vector<std::shared_ptr<const Schedule>> schedules,
           std::function<Choice(int64_t)> choose, int64_t period, int64_t first_exchange)
        : schedules_(std::move(schedules)),
          choose_(std::move(choose)),
          period_(period),
          first_exchange_(first_exchange) {
        DBENCH_EXPECT(schedules_.size() <= 16);
        for (const auto& schedule : schedules_) {
            const auto* nested = dynamic_cast<const Chosen*>(schedule.get());
            if (nested) shift_ = std::max(shift_, nested->shift_ + 4);
        }
    }

    int size() const override { return schedules_.front()->size(); }
    Round at(int64_t t) const override {
        const Choice choice = choose_(t);
        const Round inner = schedules_.at(choice.schedule)->at(choice.t);
        DBENCH_EXPECT(inner.matrix >> shift_ == 0);
        return {inner.matrix | (static_cast<uint64_t>(choice.schedule) << shift_), inner.repeats};
    }
    std::vector<Link> in(Round round, int i) const override {
        return of(round).in(inner(round), i);
    }
    std::vector<Link> out(Round round, int i) const override {
        return of(round).out(inner(round), i);
    }
    std::vector<std::vector<int>> groups(Round round) const override {
        return of(round).groups(inner(round));
    }
    std::shared_ptr<const Matrix> matrix(Round round) const override {
        return of(round).matrix(inner(round));
    }
    int64_t period() const override { return period_; }
    int64_t first_exchange() const override { return first_exchange_; }

private:
    const Schedule& of(Round round) const { return *schedules_.at(round.matrix >> shift_); }
    Round inner(Round round) const {
        return {round.matrix & ((uint64_t{1} << shift_) - 1), round.repeats};
    }

    std::vector<std::shared_ptr<const Schedule>> schedules_;
    std::function<Choice(int64_t)> choose_;
    int64_t period_, first_exchange_;
    int shift_ = 52;  // a round's matrix: the schedule's number above, its own matrix below
};

/// W = I for ever.
bool is_identity(const Schedule& schedule) {
    if (schedule.period() != 1) return false;
    const Round round = schedule.at(0);
    for (int i = 0; i < schedule.size(); ++i) {
        if (schedule.out(round, i).size() != 1) return false;
    }
    return true;
}

/// When two sequences of these periods begin anew together; 0, as they have it, for never.
int64_t together(int64_t a, int64_t b) {
    int64_t both = 0;
    if (a == 0 || b == 0 || __builtin_mul_overflow(a / std::gcd(a, b), b, &both)) return 0;
    return both;
}

}  // namespace

std::unique_ptr<Schedule> chosen(std::vector<std::shared_ptr<const Schedule>> schedules,
                                 std::function<Choice(int64_t)> choose, int64_t period,
                                 int64_t first_exchange) {
    return std::make_unique<Chosen>(std::move(schedules), std::move(choose), period,
                                    first_exchange);
}

std::unique_ptr<Schedule> no_exchange(int n) {
    std::vector<Entry3> diagonal;
    for (int i = 0; i < n; ++i) diagonal.push_back({i, i, 1.0});
    return always(explicit_matrix(n, std::move(diagonal)));
}

std::unique_ptr<Schedule> node_average(int n, int64_t gpus_per_node) {
    std::vector<Entry3> entries;
    for (int64_t begin = 0; begin < n; begin += gpus_per_node) {
        const auto end = static_cast<int>(std::min<int64_t>(begin + gpus_per_node, n));
        const double share = 1.0 / static_cast<double>(end - begin);
        for (auto i = static_cast<int>(begin); i < end; ++i) {
            for (auto j = static_cast<int>(begin); j < end; ++j) entries.push_back({i, j, share});
        }
    }
    return always(explicit_matrix(n, std::move(entries)));
}

std::unique_ptr<Schedule> averaged_globally(std::shared_ptr<const Schedule> graph, int64_t period) {
    const int n = graph->size();
    const int64_t repeats = together(period, graph->period());
    std::shared_ptr<const Schedule> everyone = make_graph(base::Json("complete"), {n, 0}, "");
    return chosen(
        {std::move(graph), std::move(everyone)},
        [period](int64_t t) {
            return Choice{(t + 1) % period == 0 ? 1u : 0u, t};
        },
        repeats);
}

std::unique_ptr<Schedule> every_so_often(std::shared_ptr<const Schedule> graph,
                                         std::shared_ptr<const Schedule> between, int64_t period,
                                         int64_t from) {
    DBENCH_EXPECT(period >= 1);
    const bool by_iteration = graph->staged() != nullptr;
    const auto choose = [=](int64_t t) -> Choice {
        if (t < from) return {0, t};
        if ((t + 1) % period != 0) return {1, t};
        if (by_iteration) return {0, t};
        return {0, from + t / period - from / period};  // uses before this one
    };
    int64_t used = 0;  // iterations in which the graph goes through all its rounds
    if (__builtin_mul_overflow(period, graph->period(), &used)) used = 0;
    const int64_t repeats = from > 0 ? 0 : together(used, between->period());
    const int64_t idle =
        is_identity(*between) ? std::numeric_limits<int64_t>::max() : between->first_exchange();
    const int64_t first = from > 0 ? 0 : std::min(period - 1, idle);
    return chosen({std::move(graph), std::move(between)}, choose, repeats, first);
}

}  // namespace dbench::graphs
