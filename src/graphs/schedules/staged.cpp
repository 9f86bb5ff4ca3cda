#include "graphs/schedules/staged.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/duration.hpp"
#include "base/error.hpp"
#include "graphs/matrix/matrix.hpp"
#include "graphs/schedules/round_names.hpp"

namespace dbench::graphs {

size_t StagedSchedule::stage_at(int64_t t) const {
    const auto after =
        std::upper_bound(stages_.begin(), stages_.end(), t,
                         [](int64_t when, const Stage& stage) { return when < stage.first; });
    DBENCH_EXPECT(after != stages_.begin());
    return static_cast<size_t>(after - stages_.begin()) - 1;
}

Round StagedSchedule::named_round(size_t graph, int64_t use) const {
    const Round inner = graphs_.at(graph).schedule->at(use);
    return {join_names({graph, inner.matrix}), inner.repeats};
}

Round StagedSchedule::at(int64_t t) const {
    const std::lock_guard lock(mutex_);
    const Stage& stage = stages_[stage_at(t)];
    return named_round(stage.graph, stage.before + t - stage.first);
}

Round StagedSchedule::round_of_use(size_t graph, int64_t use) const {
    const std::lock_guard lock(mutex_);
    return named_round(graph, use);
}

StagedSchedule::Found StagedSchedule::find(Round round) const {
    const PartName of = split_name(round.matrix);
    const std::lock_guard lock(mutex_);
    return {*graphs_.at(of.part).schedule, {of.name, round.repeats}};
}

std::vector<Link> StagedSchedule::in(Round round, int i) const {
    const Found found = find(round);
    return found.schedule.in(found.round, i);
}

std::vector<Link> StagedSchedule::out(Round round, int i) const {
    const Found found = find(round);
    return found.schedule.out(found.round, i);
}

std::vector<std::vector<int>> StagedSchedule::groups(Round round) const {
    const Found found = find(round);
    return found.schedule.groups(found.round);
}

std::shared_ptr<const Matrix> StagedSchedule::matrix(Round round) const {
    const Found found = find(round);
    return found.schedule.matrix(found.round);
}

std::vector<StagedSchedule::Stage> StagedSchedule::stages() const {
    const std::lock_guard lock(mutex_);
    return stages_;
}

StagedSchedule::Stage StagedSchedule::stage(size_t number) const {
    const std::lock_guard lock(mutex_);
    return stages_.at(number);
}

size_t StagedSchedule::stage_count() const {
    const std::lock_guard lock(mutex_);
    return stages_.size();
}

size_t StagedSchedule::stage_of(int64_t t) const {
    const std::lock_guard lock(mutex_);
    return stage_at(t);
}

std::string StagedSchedule::name(size_t graph) const {
    const std::lock_guard lock(mutex_);
    return graphs_.at(graph).name;
}

const Schedule& StagedSchedule::graph(size_t graph) const {
    const std::lock_guard lock(mutex_);
    return *graphs_.at(graph).schedule;
}

size_t StagedSchedule::graphs() const {
    const std::lock_guard lock(mutex_);
    return graphs_.size();
}

size_t StagedSchedule::last_graph() const {
    const std::lock_guard lock(mutex_);
    return stages_.back().graph;
}

size_t StagedSchedule::add(std::string name, std::shared_ptr<const Schedule> graph) {
    DBENCH_EXPECT(graph->size() == n_ && !graph->staged());
    const std::lock_guard lock(mutex_);
    graphs_.push_back({std::move(name), std::move(graph)});
    used_.push_back(0);
    return graphs_.size() - 1;
}

void StagedSchedule::start_stage(int64_t t, size_t graph, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    DBENCH_EXPECT(graph < graphs_.size() && (stages_.empty() ? t == 0 : t > stages_.back().first));
    if (!stages_.empty() && stages_.back().graph == graph) return;
    append({t, graph, reason});
}

void StagedSchedule::append_plan(const StagedSchedule& plan, int64_t first, int64_t end) {
    std::map<size_t, size_t> mine;  // own graph numbers by the plan's
    const std::vector<Stage> stages = plan.stages();
    for (size_t k = 0; k < stages.size() && stages[k].first < end; ++k) {
        if (k + 1 < stages.size() && stages[k + 1].first <= first) continue;
        const Named& graph = plan.graphs_[stages[k].graph];
        if (!mine.contains(stages[k].graph)) {
            mine[stages[k].graph] = add(graph.name, graph.schedule);
        }
        start_stage(std::max(first, stages[k].first), mine[stages[k].graph], stages[k].reason);
    }
}

void StagedSchedule::append(Stage stage) {
    if (!stages_.empty()) {
        const Stage& ended = stages_.back();
        used_[ended.graph] += stage.first - ended.first;
    }
    stage.before = used_[stage.graph];
    stages_.push_back(std::move(stage));
}

std::string StagedSchedule::save() const {
    base::Json saved{{"stages", base::Json::array()}, {"numbers", numbers()}};
    for (const Stage& stage : stages()) {
        saved["stages"].push_back({stage.first, stage.graph, stage.reason});
    }
    return saved.dump();
}

void StagedSchedule::restore(const std::string& text) {
    const base::Json saved = base::Json::parse(text);
    set_numbers(saved.at("numbers"));
    {
        const std::lock_guard lock(mutex_);
        stages_.clear();
        std::fill(used_.begin(), used_.end(), 0);
        for (const base::Json& stage : saved.at("stages")) {
            DBENCH_EXPECT(stage.at(1).get<size_t>() < graphs_.size());
            append({stage.at(0), stage.at(1), stage.at(2)});
        }
    }
}

namespace {

class StagedList final : public StagedSchedule {
public:
    StagedList(const base::Json& entries, const GraphContext& context, const std::string& pointer)
        : StagedSchedule(context.n) {
        int64_t first = 0;
        for (size_t k = 0; k < entries.size(); ++k) {
            const std::string here = pointer + "/" + std::to_string(k);
            base::Json spec = entries[k];
            const base::Json until = spec.value("until", base::Json(nullptr));
            spec.erase("until");
            const int64_t end = until.is_null() ? std::numeric_limits<int64_t>::max()
                                                : base::to_iterations(until, context.run);
            if (end <= first) {
                throw base::UserError(here + "/until: iteration " + std::to_string(end) +
                                      " is not after the graph's first, " + std::to_string(first) +
                                      " (until counts from the start of the run): increase it "
                                      "from entry to entry");
            }
            if (const int64_t run = context.run.iterations; run > 0 && first >= run) {
                unused_.push_back(here + ": would begin in iteration " + std::to_string(first) +
                                  ", but the run has only " + std::to_string(run) + " iterations");
            }
            std::shared_ptr<const Schedule> graph = make_graph(spec, context, here);
            if (const StagedSchedule* plan = plan_of(*graph, here)) {
                append_plan(*plan, first, end);
            } else {
                start_stage(first, add(graph_label(spec), std::move(graph)), "planned");
            }
            first = end;
        }
    }

    std::vector<std::string> warnings() const override { return unused_; }

private:
    std::vector<std::string> unused_;  ///< Warnings about graphs that the run ends before.
};

}  // namespace

const StagedSchedule* plan_of(const Schedule& schedule, const std::string& pointer) {
    const StagedSchedule* staged = schedule.staged();
    if (!staged || staged->nesting_problem().empty()) return staged;
    throw base::UserError(
        pointer + ": " + staged->nesting_problem() +
        ", which is not possible in a part of another graph: use it alone, or use "
        "here a graph that is planned ahead, such as ada");
}

std::unique_ptr<Schedule> make_list(const base::Json& entries, const GraphContext& context,
                                    const std::string& pointer) {
    return std::make_unique<StagedList>(entries, context, pointer);
}

std::string graph_title(const base::Json& spec) {
    if (!spec.is_array()) return spec.at("type");
    std::string title;
    for (const base::Json& entry : spec) {
        title += (title.empty() ? "" : ", ") + entry.at("type").get<std::string>();
    }
    return title;
}

namespace {

bool is_default(const base::Json& value, const base::Parameter& parameter) {
    if (parameter.default_json.empty()) return false;
    return value == base::resolve_value(base::Json::parse(parameter.default_json), "", parameter);
}

}  // namespace

std::string graph_label(const base::Json& spec) {
    if (spec.is_array()) return graph_title(spec);
    std::string label = spec.at("type");
    const auto* entry = base::find_entry(graph_table(), label);
    for (const base::Parameter& parameter : entry->parameters) {
        const base::Json& value = spec.at(parameter.name);
        std::string text;
        if (parameter.family == "graphs") {
            text = graph_title(value);
        } else if (value.is_string()) {
            text = value.get<std::string>();
        } else if (value.is_number()) {
            text = value.dump();
        }
        if (!text.empty() && !is_default(value, parameter)) {
            label += " " + parameter.name + "=" + text;
        }
    }
    return label;
}

}  // namespace dbench::graphs
