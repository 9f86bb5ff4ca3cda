#include "graphs/schedules/selection.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "graphs/schedules/round_names.hpp"
#include "graphs/schedules/sequence.hpp"

namespace dbench::graphs {
namespace {

class SelectingSchedule final : public Schedule {
public:
    SelectingSchedule(std::vector<std::shared_ptr<const Schedule>> schedules,
                      std::function<size_t(int64_t)> choose, int64_t period, int64_t first_exchange)
        : schedules_(std::move(schedules)),
          choose_(std::move(choose)),
          period_(period),
          first_exchange_(first_exchange) {}

    int size() const override { return schedules_.front()->size(); }
    Round at(int64_t t) const override {
        const size_t which = choose_(t);
        return named_round(which, schedules_.at(which)->at(t));
    }
    Round certified() const override { return named_round(0, schedules_.front()->certified()); }
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
    static Round named_round(size_t which, Round inner) {
        return {join_names({which, inner.matrix}), inner.repeats};
    }
    static Round inner(Round round) { return {split_name(round.matrix).name, round.repeats}; }
    const Schedule& of(Round round) const { return *schedules_.at(split_name(round.matrix).part); }

    std::vector<std::shared_ptr<const Schedule>> schedules_;
    std::function<size_t(int64_t)> choose_;
    int64_t period_, first_exchange_;
};

/// True if the schedule is W = I in every iteration.
bool is_identity(const Schedule& schedule) {
    if (schedule.period() != 1) return false;
    const Round round = schedule.at(0);
    for (int i = 0; i < schedule.size(); ++i) {
        if (schedule.out(round, i).size() != 1) return false;
    }
    return true;
}

}  // namespace

std::unique_ptr<Schedule> selecting_schedule(std::vector<std::shared_ptr<const Schedule>> schedules,
                                             std::function<size_t(int64_t)> choose, int64_t period,
                                             int64_t first_exchange) {
    return std::make_unique<SelectingSchedule>(std::move(schedules), std::move(choose), period,
                                               first_exchange);
}

std::unique_ptr<Schedule> no_exchange_schedule(int n) {
    std::vector<MatrixEntry> diagonal;
    for (int i = 0; i < n; ++i) diagonal.push_back({i, i, 1.0});
    return static_schedule(explicit_matrix(n, std::move(diagonal)));
}

std::unique_ptr<Schedule> node_average(int n, int64_t gpus_per_node) {
    std::vector<MatrixEntry> entries;
    for (int64_t begin = 0; begin < n; begin += gpus_per_node) {
        const auto end = static_cast<int>(std::min<int64_t>(begin + gpus_per_node, n));
        const double share = 1.0 / static_cast<double>(end - begin);
        for (auto i = static_cast<int>(begin); i < end; ++i) {
            for (auto j = static_cast<int>(begin); j < end; ++j) entries.push_back({i, j, share});
        }
    }
    return static_schedule(explicit_matrix(n, std::move(entries)));
}

std::unique_ptr<Schedule> with_global_averages(std::shared_ptr<const Schedule> graph,
                                               UsePattern uses) {
    DBENCH_EXPECT(uses.instead >= 1);
    const int n = graph->size();
    std::shared_ptr<const Schedule> everyone = make_graph(base::Json("complete"), {n, 0}, "");
    std::shared_ptr<const Schedule> used = counted_schedule(std::move(graph), uses);
    const int64_t pattern = uses.from > 0 ? 0 : common_period(uses.period, uses.instead);
    const int64_t repeats = common_period(pattern, used->period());
    const auto choose = [uses](int64_t t) -> size_t {
        if ((t + 1) % uses.instead == 0) return 1;
        return uses.in(t) ? 0 : 2;
    };
    const int64_t first = uses.from > 0 ? 0 : std::min(uses.period, uses.instead) - 1;
    return selecting_schedule({std::move(used), std::move(everyone), no_exchange_schedule(n)},
                              choose, repeats, first);
}

std::unique_ptr<Schedule> periodic_schedule(std::shared_ptr<const Schedule> graph,
                                            std::shared_ptr<const Schedule> between, int64_t period,
                                            int64_t from, int64_t lead) {
    DBENCH_EXPECT(period >= 1 && lead >= 0 && lead < period && (from == 0 || lead == 0));
    const UsePattern uses{.period = period, .from = from, .lead = lead};
    const auto choose = [uses](int64_t t) -> size_t { return uses.in(t) ? 0 : 1; };
    std::shared_ptr<const Schedule> used = counted_schedule(std::move(graph), uses);
    const int64_t repeats = common_period(used->period(), between->period());
    const int64_t idle =
        is_identity(*between) ? std::numeric_limits<int64_t>::max() : between->first_exchange();
    const int64_t first = from > 0 ? 0 : std::min(period - 1 - lead, idle);
    return selecting_schedule({std::move(used), std::move(between)}, choose, repeats, first);
}

}  // namespace dbench::graphs
