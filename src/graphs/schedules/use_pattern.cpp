#include "graphs/schedules/use_pattern.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::graphs {
namespace {

class Counted : public Schedule {
public:
    Counted(std::shared_ptr<const Schedule> graph, UsePattern uses)
        : graph_(std::move(graph)), uses_(uses) {}

    int size() const override { return graph_->size(); }
    Round at(int64_t t) const override { return graph_->at(uses_.before(t)); }
    Round certified() const override { return graph_->certified(); }
    std::vector<Link> in(Round round, int i) const override { return graph_->in(round, i); }
    std::vector<Link> out(Round round, int i) const override { return graph_->out(round, i); }
    std::vector<std::vector<int>> groups(Round round) const override {
        return graph_->groups(round);
    }
    std::shared_ptr<const Matrix> matrix(Round round) const override {
        return graph_->matrix(round);
    }
    int64_t period() const override { return uses_.repeats(graph_->period()); }

protected:
    std::shared_ptr<const Schedule> graph_;
    UsePattern uses_;
};

class CountedStages final : public Counted {
public:
    CountedStages(std::shared_ptr<const Schedule> graph, UsePattern uses)
        : Counted(std::move(graph), uses), staged_(*graph_->staged()) {}

    Round at(int64_t t) const override {
        const size_t stage = staged_.stage_of(t);
        const std::lock_guard lock(mutex_);
        while (stages_.size() <= stage) append();
        const Known& now = stages_[stage];
        return staged_.round_of_use(now.graph,
                                    now.before + uses_.before(t) - uses_.before(now.first));
    }
    int64_t period() const override { return 0; }

private:
    struct Known {
        int64_t first;
        size_t graph;
        int64_t before;  // uses of this graph in earlier stages
    };

    void append() const {
        const StagedSchedule::Stage stage = staged_.stage(stages_.size());
        if (!stages_.empty()) {
            const Known& ended = stages_.back();
            used_[ended.graph] += uses_.before(stage.first) - uses_.before(ended.first);
        }
        if (used_.size() <= stage.graph) used_.resize(stage.graph + 1);
        stages_.push_back({stage.first, stage.graph, used_[stage.graph]});
    }

    const StagedSchedule& staged_;
    mutable std::mutex mutex_;
    mutable std::vector<Known> stages_;  // cache of requested stages; existing stages never change
    mutable std::vector<int64_t> used_;  // per graph: uses in ended stages
};

}  // namespace

bool UsePattern::in(int64_t t) const {
    if (instead > 0 && (t + 1) % instead == 0) return false;
    return t < from || (t + 1 + lead) % period == 0;
}

int64_t UsePattern::before(int64_t t) const {
    DBENCH_EXPECT(period >= 1 && instead >= 0 && lead >= 0 && lead < period);
    DBENCH_EXPECT(lead == 0 || (from == 0 && instead == 0));
    const int64_t all = std::min(t, from);  // uses before `from`
    int64_t count = all;
    if (t > from) count += (t + lead) / period - from / period;
    if (instead == 0) return count;
    count -= all / instead;
    const int64_t both = common_period(period, instead);
    if (t > from && both > 0) count -= t / both - from / both;
    return count;
}

int64_t UsePattern::repeats(int64_t period_of_sequence) const {
    if (from > 0 || period_of_sequence == 0) return 0;
    const int64_t block = instead > 0 ? common_period(period, instead) : period;
    if (block == 0) return 0;
    const int64_t in_block = block / period - (instead > 0 ? 1 : 0);
    int64_t iterations = 0;
    const int64_t blocks = period_of_sequence / std::gcd(period_of_sequence, in_block);
    return __builtin_mul_overflow(block, blocks, &iterations) ? 0 : iterations;
}

std::unique_ptr<Schedule> counted_schedule(std::shared_ptr<const Schedule> graph, UsePattern uses) {
    if (graph->staged()) return std::make_unique<CountedStages>(std::move(graph), uses);
    return std::make_unique<Counted>(std::move(graph), uses);
}

int64_t common_period(int64_t a, int64_t b) {
    int64_t both = 0;
    if (a == 0 || b == 0 || __builtin_mul_overflow(a / std::gcd(a, b), b, &both)) return 0;
    return both;
}

}  // namespace dbench::graphs
