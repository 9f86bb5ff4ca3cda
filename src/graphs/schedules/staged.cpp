#include "graphs/schedules/staged.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/duration.hpp"
#include "base/error.hpp"
#include "graphs/matrix/matrix.hpp"
#include "graphs/schedules/naming.hpp"

namespace dbench::graphs {

size_t Staged::stage_at(int64_t t) const {
    const auto after =
        std::upper_bound(stages_.begin(), stages_.end(), t,
                         [](int64_t when, const Stage& stage) { return when < stage.first; });
    DBENCH_EXPECT(after != stages_.begin());
    return static_cast<size_t>(after - stages_.begin()) - 1;
}

Round Staged::named(size_t graph, int64_t use) const {
    const Round inner = graphs_.at(graph).schedule->at(use);
    return {joined({graph, inner.matrix}), inner.repeats};
}

Round Staged::at(int64_t t) const {
    const std::lock_guard lock(mutex_);
    const Stage& stage = stages_[stage_at(t)];
    return named(stage.graph, stage.before + t - stage.first);
}

Round Staged::nth(size_t graph, int64_t use) const {
    const std::lock_guard lock(mutex_);
    return named(graph, use);
}

Staged::Found Staged::find(Round round) const {
    const PartName of = parted(round.matrix);
    const std::lock_guard lock(mutex_);
    return {*graphs_.at(of.part).schedule, {of.name, round.repeats}};
}

std::vector<Link> Staged::in(Round round, int i) const {
    const Found found = find(round);
    return found.schedule.in(found.round, i);
}

std::vector<Link> Staged::out(Round round, int i) const {
    const Found found = find(round);
    return found.schedule.out(found.round, i);
}

std::vector<std::vector<int>> Staged::groups(Round round) const {
    const Found found = find(round);
    return found.schedule.groups(found.round);
}

std::shared_ptr<const Matrix> Staged::matrix(Round round) const {
    const Found found = find(round);
    return found.schedule.matrix(found.round);
}

std::vector<Staged::Stage> Staged::stages() const {
    const std::lock_guard lock(mutex_);
    return stages_;
}

Staged::Stage Staged::stage(size_t number) const {
    const std::lock_guard lock(mutex_);
    return stages_.at(number);
}

size_t Staged::stage_of(int64_t t) const {
    const std::lock_guard lock(mutex_);
    return stage_at(t);
}

std::string Staged::name(size_t graph) const {
    const std::lock_guard lock(mutex_);
    return graphs_.at(graph).name;
}

const Schedule& Staged::graph(size_t graph) const {
    const std::lock_guard lock(mutex_);
    return *graphs_.at(graph).schedule;
}

size_t Staged::graphs() const {
    const std::lock_guard lock(mutex_);
    return graphs_.size();
}

size_t Staged::last_graph() const {
    const std::lock_guard lock(mutex_);
    return stages_.back().graph;
}

size_t Staged::add(std::string name, std::shared_ptr<const Schedule> graph) {
    DBENCH_EXPECT(graph->size() == n_ && !graph->staged());
    const std::lock_guard lock(mutex_);
    graphs_.push_back({std::move(name), std::move(graph)});
    used_.push_back(0);
    return graphs_.size() - 1;
}

void Staged::go_to(int64_t t, size_t graph, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    DBENCH_EXPECT(graph < graphs_.size() && (stages_.empty() ? t == 0 : t > stages_.back().first));
    if (!stages_.empty() && stages_.back().graph == graph) return;
    append({t, graph, reason});
}

void Staged::follow(const Staged& plan, int64_t first, int64_t end) {
    std::map<size_t, size_t> mine;  // by the plan's number
    const std::vector<Stage> stages = plan.stages();
    for (size_t k = 0; k < stages.size() && stages[k].first < end; ++k) {
        if (k + 1 < stages.size() && stages[k + 1].first <= first) continue;
        const Named& graph = plan.graphs_[stages[k].graph];
        if (!mine.contains(stages[k].graph)) {
            mine[stages[k].graph] = add(graph.name, graph.schedule);
        }
        go_to(std::max(first, stages[k].first), mine[stages[k].graph], stages[k].reason);
    }
}

void Staged::append(Stage stage) {
    if (!stages_.empty()) {
        const Stage& ended = stages_.back();
        used_[ended.graph] += stage.first - ended.first;
    }
    stage.before = used_[stage.graph];
    stages_.push_back(std::move(stage));
}

std::string Staged::save() const {
    base::Json saved{{"stages", base::Json::array()}, {"numbers", numbers()}};
    for (const Stage& stage : stages()) {
        saved["stages"].push_back({stage.first, stage.graph, stage.reason});
    }
    return saved.dump();
}

void Staged::restore(const std::string& text) {
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

class List final : public Staged {
public:
    List(const base::Json& entries, const GraphContext& context, const std::string& pointer)
        : Staged(context.n) {
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
                                      " (until counts from the start of the run): let it rise "
                                      "from entry to entry");
            }
            std::shared_ptr<const Schedule> graph = make_graph(spec, context, here);
            if (const Staged* plan = plan_of(*graph, here)) {
                follow(*plan, first, end);
            } else {
                go_to(first, add(graph_label(spec), std::move(graph)), "planned");
            }
            first = end;
        }
    }

    std::vector<std::string> warnings() const override { return {}; }
};

}  // namespace

const Staged* plan_of(const Schedule& schedule, const std::string& pointer) {
    const Staged* staged = schedule.staged();
    if (!staged || staged->alone().empty()) return staged;
    throw base::UserError(pointer + ": " + staged->alone() +
                          ", which it cannot as a part of another graph: use it by itself, or here "
                          "a graph that is planned ahead, such as ada");
}

std::unique_ptr<Schedule> make_list(const base::Json& entries, const GraphContext& context,
                                    const std::string& pointer) {
    return std::make_unique<List>(entries, context, pointer);
}

std::string graph_title(const base::Json& spec) {
    if (!spec.is_array()) return spec.at("type");
    std::string title;
    for (const base::Json& entry : spec) {
        title += (title.empty() ? "" : ", ") + entry.at("type").get<std::string>();
    }
    return title;
}

std::string graph_label(const base::Json& spec) {
    std::string label = spec.at("type");
    const auto* entry = base::find_entry(graph_table(), label);
    for (const base::Parameter& parameter : entry->parameters) {
        const base::Json& value = spec.at(parameter.name);
        const bool plain = value.is_number() || value.is_string();
        const bool standard =
            !parameter.standard.empty() && value == base::Json::parse(parameter.standard);
        if (plain && !standard) {
            label += " " + parameter.name + "=" +
                     (value.is_string() ? value.get<std::string>() : value.dump());
        }
    }
    return label;
}

}  // namespace dbench::graphs
