#include "algorithms/compatibility.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "algorithms/rules/rules.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "graphs/proof/certificate.hpp"

namespace dbench::algorithms {
namespace {

using base::Json;

bool one_after_another(const Traits& traits) { return traits.asynchronous || traits.linearises; }

std::string in_turn(const Facts& f) {
    return f.algorithm + " computes the gradients of its replicas one after another";
}

}  // namespace

const std::vector<Rule>& compatibility_rules() {
    static const std::vector<Rule> all = [] {
        std::vector<Rule> rules;
        for (const auto subject :
             {rank_rules, spec_rules, graph_rules, pass_rules, resume_rules, schedule_rules}) {
            const std::vector<Rule> some = subject();
            rules.insert(rules.end(), some.begin(), some.end());
        }
        return rules;
    }();
    return all;
}

bool sums_suit(const Traits& traits, const MatrixFacts& matrix) {
    switch (traits.graph) {
        case GraphNeed::none:
        case GraphNeed::tree:
            return true;  // Weights are not used.
        case GraphNeed::column_stochastic:
            return matrix.column_sums;
        case GraphNeed::doubly_stochastic:
        case GraphNeed::symmetric:
            break;
    }
    return matrix.row_sums && matrix.column_sums;
}

std::string Problem::text() const {
    const std::string what = pointer + ": " + reason;
    if (remedy.empty()) return what;
    return warning ? what + " (" + remedy + ")" : what + ": " + remedy;
}

std::vector<Problem> find_problems(const Facts& facts) {
    std::vector<Problem> found;
    for (const Rule& rule : compatibility_rules()) {
        if (auto problem = rule.check(facts)) found.push_back(std::move(*problem));
    }
    return found;
}

void require_compatible(const Facts& facts) {
    for (const Problem& problem : find_problems(facts)) {
        if (!problem.warning) throw base::UserError(problem.text());
        base::warn(problem.text());
    }
}

std::string streams_obstacle(const Facts& f) {
    if (one_after_another(f.traits)) return in_turn(f);
    if (!f.passes->on_host) return "";
    return "the CPU has no streams: replicas would still run one after another";
}

std::string batched_obstacle(const Facts& f) {
    if (one_after_another(f.traits)) return in_turn(f);
    if (f.data->ragged || f.data->full_batches) return "minibatches may differ in size";
    if (f.passes->microbatches > 1) return "/data/accumulate divides minibatches";
    return batched_obstacle(*f.model);
}

std::string batched_obstacle(const ModelFacts& model) {
    if (model.draws)
        return "the model uses dropout, with random numbers of its own for each replica";
    if (model.carries) return "the model carries state from batch to batch";
    if (!model.unstacked.empty()) return model.unstacked;
    return model.stacks ? "" : "the model accepts the tensors of one replica only";
}

std::string capture_obstacle(const Facts& f) {
    if (f.passes->on_host) return "replicas train on the CPU, which has no launches to capture";
    if (one_after_another(f.traits)) return in_turn(f);
    if (f.data->ragged || f.data->full_batches) return "minibatches may differ in size";
    if (f.passes->microbatches > 1 && (f.model->draws || f.model->carries)) {
        return "with /data/accumulate each micro-batch starts with random numbers or a carried "
               "state of its own";
    }
    return f.passes->streams ? concurrent_capture_obstacle(*f.model) : "";
}

// CUDA graphs all draw from one random number generator, which has one seed at a time.
std::string concurrent_capture_obstacle(const ModelFacts& model) {
    if (!model.draws) return "";
    return "the model uses dropout, and concurrent replicas would share a seed";
}

Facts facts_of(const AlgorithmEntry& entry, const Json& algorithm) {
    Facts facts;
    facts.algorithm = entry.name;
    facts.traits = traits_of(entry, algorithm);
    const std::string base = algorithm.contains("base") ? "/base" : "";  // SlowMo's base algorithm
    if (algorithm.contains(Json::json_pointer(base + "/beta"))) {
        facts.momentum_key = "/algorithm" + base + "/beta";
    }
    return facts;
}

Facts facts_of(const Json& algorithm) { return facts_of(entry_of(algorithm), algorithm); }

OptimizerFacts optimizer_facts(const Json& optimizer) {
    return {optimizer.at("type"), optimizer.value("momentum", 0.0) != 0,
            !optimizer.at("clip_norm").is_null()};
}

MessageFacts message_facts(const Json& message) {
    if (message.is_string()) return {message, message != "float32", false};
    return {message.at("type"), true, true};
}

MatrixFacts matrix_facts(const graphs::Schedule& graph, std::string name, const Traits& traits) {
    MatrixFacts facts;
    facts.name = std::move(name);
    const graphs::Sums sums = graphs::sums(graph);
    facts.row_sums = sums.rows;
    facts.column_sums = sums.columns;
    facts.is_static = graph.period() == 1;
    if (!sums_suit(traits, facts)) {
        facts.directed = !graphs::is_undirected(graph);
        return facts;
    }
    if (traits.graph == GraphNeed::tree) facts.tree = graphs::is_tree(graph);
    if (traits.graph == GraphNeed::symmetric && (facts.is_static || traits.sequences)) {
        const graphs::Symmetry symmetry = graphs::symmetry(graph);
        facts.symmetric = symmetry.symmetric;
        facts.lambda_min = symmetry.lambda_min;
    }
    return facts;
}

}  // namespace dbench::algorithms
