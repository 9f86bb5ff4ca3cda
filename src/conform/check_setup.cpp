#include "conform/check_setup.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "algorithms/compatibility.hpp"
#include "algorithms/optimizers/optimizer.hpp"
#include "conform/stability.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::conform {

using algorithms::GraphNeed;
using base::Json;

int64_t iterations_to_compare(const comm::World& world) { return world.size() == 1 ? 60 : 20; }

double varying_rate(int64_t t) { return kLr * (1 + 0.5 * std::cos(static_cast<double>(t))); }

std::function<double(int64_t)> constant_rate(double lr) {
    return [lr](int64_t) { return lr; };
}

bool diverges(const Matrix& x) { return !x.allFinite() || x.cwiseAbs().maxCoeff() > 1e6; }

double difference(const Matrix& a, const Matrix& b) {
    if (!a.allFinite() || !b.allFinite()) return std::numeric_limits<double>::infinity();
    return (a - b).cwiseAbs().maxCoeff() / std::max(1.0, b.cwiseAbs().maxCoeff());
}

double difference(const Record& a, const Record& b) {
    if (a.norm.size() != b.norm.size() || a.update_norm.size() != b.update_norm.size() ||
        a.variance.size() != b.variance.size() || a.staleness.size() != b.staleness.size()) {
        return std::numeric_limits<double>::infinity();
    }
    // Staleness consists of whole numbers, so it must be equal.
    if (a.staleness.size() > 0 && a.staleness != b.staleness) return 1;
    return std::max({difference(a.norm, b.norm), difference(a.update_norm, b.update_norm),
                     difference(a.variance, b.variance),
                     std::abs(a.bytes - b.bytes) / std::max(1.0, b.bytes)});
}

Json resolved_optimizer(const ConformanceCase& tested) {
    return algorithms::resolve_optimizer(tested.optimizer, "/optimizer");
}

Json resolved_algorithm(const Json& algorithm, const algorithms::AlgorithmEntry& row) {
    return algorithms::resolve_algorithm(algorithm, "/algorithm", row);
}

bool plain_sgd(const Json& optimizer) {
    return optimizer.at("type") == "sgd" && optimizer.at("momentum") == 0 &&
           optimizer.at("weight_decay") == 0 && optimizer.at("clip_norm").is_null();
}

TrainingSettings training_of(const ConformanceCase& tested, const Json& graph, int64_t replicas,
                             int64_t iterations) {
    TrainingSettings training;
    training.algorithm = resolved_algorithm(tested.algorithm, *tested.row);
    training.optimizer = resolved_optimizer(tested);
    training.graph = graph;
    training.replicas = replicas;
    training.iterations = iterations;
    training.per_epoch = kPerEpoch;
    training.lr = varying_rate;
    training.same_start = tested.same_start;
    training.optimizer_row = tested.optimizer_row;
    training.message = tested.message;
    return training;
}

std::unique_ptr<graphs::Schedule> graph_of(const Json& graph, int64_t replicas,
                                           int64_t iterations) {
    return graphs::make_graph(graph, {static_cast<int>(replicas), 1, {iterations, kPerEpoch, 1, 8}},
                              "--graph");
}

std::string unsuitable_reason(const algorithms::AlgorithmEntry& row, const Json& graph,
                              int64_t replicas, int ranks) {
    algorithms::Facts facts;
    facts.algorithm = row.name;
    facts.traits = row.traits;
    facts.ranks = {.replicas = replicas, .ranks = ranks, .reproducible = true};
    if (row.traits.graph != GraphNeed::none) {
        const auto schedule = graph_of(graph, replicas, 1);
        facts.matrix = algorithms::matrix_facts(*schedule, "the graph", row.traits);
        facts.schedule = {.staged = schedule->staged() != nullptr};
    }
    const auto problems = algorithms::find_problems(facts);
    return problems.empty() ? "" : problems.front().reason;
}

Json suitable_graph(const algorithms::AlgorithmEntry& row, const Json& asked, int64_t replicas) {
    if (!asked.is_null()) return asked;
    if (row.traits.graph == GraphNeed::tree) return {{"type", "path"}};
    const Json ring{{"type", "ring"}};
    if (unsuitable_reason(row, ring, replicas).empty()) return ring;
    return {{"type", "ring"}, {"lazy", 0.5}};
}

Json column_stochastic_graph() { return {{"type", "star"}, {"weights", "column"}}; }

std::vector<Json> other_graphs(const ConformanceCase& tested, int64_t replicas) {
    const algorithms::Traits& traits = tested.row->traits;
    std::vector<Json> out;
    if (traits.graph == GraphNeed::column_stochastic) {
        out.push_back(column_stochastic_graph());
    }
    if (traits.graph == GraphNeed::tree) {
        out.push_back({{"type", "double_binary_tree"}});
        out.push_back({{"type", "double_binary_tree"}, {"order", "heap"}});
    }
    if (traits.graph == GraphNeed::none || !traits.sequences) return out;
    static const char* const kKinds[3][3] = {
        {R"({"type": "one_peer_exponential"})", R"({"type": "one_peer_exponential", "lazy": 0.5})",
         R"({"type": "random_matching", "lazy": 0.5})"},
        {R"({"type": "participation", "graph": "ring", "fraction": 0.3})",
         R"({"type": "participation", "graph": {"type": "ring", "lazy": 0.5}, "fraction": 0.3})",
         R"({"type": "participation", "graph": {"type": "ring", "lazy": 0.2}, "fraction": 0.3})"},
        {R"([{"type": "ring", "until": {"iterations": 7}},
             {"type": "complete", "until": {"iterations": 11}}, {"type": "star"}])",
         R"([{"type": "ring", "lazy": 0.5, "until": {"iterations": 7}},
             {"type": "complete", "until": {"iterations": 11}}, {"type": "star", "lazy": 0.5}])",
         R"([{"type": "ring", "lazy": 0.2, "until": {"iterations": 7}},
             {"type": "complete", "until": {"iterations": 11}}, {"type": "star", "lazy": 0.2}])"}};
    const Json algorithm = resolved_algorithm(tested.algorithm, *tested.row);
    for (const auto& kind : kKinds) {
        for (const char* text : kind) {
            Json graph = graphs::resolve_graph(Json::parse(text), "--graph");
            // Algorithms with their own schedule derive rounds from a list that the reference does
            // not know.
            if (graph.is_array() && tested.row->rules.schedule) break;
            if (!unsuitable_reason(*tested.row, graph, replicas).empty()) continue;
            const auto schedule = graph_of(graph, replicas, 1);
            if (growth(algorithm, *schedule).stable() == false) continue;
            out.push_back(std::move(graph));
            break;
        }
    }
    return out;
}

std::string spec_label(const Json& object) {
    if (object.is_string()) return object;
    std::string out = object.at("type");
    for (const auto& [key, value] : object.items()) {
        if (key == "type") continue;
        out += " " + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
    }
    return out;
}

}  // namespace dbench::conform
