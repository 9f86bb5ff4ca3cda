#include "program/stability.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "algorithms/compatibility.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::program {
namespace {

using base::Json;
using base::UserError;

// A stable value is searched up to this number of replicas (kSampledSearchLimit if the growth was
// found by sampling), because each trial costs as much as the first check.
constexpr int kSearchLimit = 1024, kSampledSearchLimit = 256;

// Keys of algorithms that hold a momentum, or the weight of one.
constexpr const char* kMomenta[] = {"mu", "beta", "outer_momentum", "alpha", "gamma"};

std::string short_number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

bool is_stable(const Json& algorithm, const graphs::Schedule& graph) {
    return conform::growth(algorithm, graph).stable().value_or(false);
}

// Returns the largest multiple of 0.05 in [`least`, `from`) for which `works`, or "" if there is
// none.
template <class Works>
std::string largest_below(double from, double least, Works&& works) {
    for (int k = 19; k >= 0; --k) {
        const double value = k / 20.0;
        if (value < from - 1e-9 && value >= least && works(value)) return short_number(value);
    }
    return "";
}

// Returns the largest stable `lazy` of the graph as "set /graph/lazy to 0.8", or "".
std::string stable_lazy(const Spec& spec, const graphs::GraphContext& context) {
    const Json& graph = spec.graph;
    if (!graph.is_object() || !graph.contains("lazy") || !graph.at("lazy").is_number()) return "";
    const std::string found = largest_below(graph.at("lazy"), 0.05, [&](double theta) {
        Json slower = graph;
        slower["lazy"] = theta;
        return is_stable(spec.algorithm, *graphs::make_graph(slower, context, "/graph"));
    });
    return found.empty() ? "" : "set /graph/lazy to " + found;
}

std::vector<std::string> stable_momenta(const Spec& spec, const graphs::Schedule& graph) {
    std::vector<std::string> out;
    for (const char* key : kMomenta) {
        const Json value = spec.algorithm.value(key, Json(nullptr));
        if (!value.is_number() || value.get<double>() <= 0) continue;
        const std::string found = largest_below(value, 0, [&](double less) {
            Json changed = spec.algorithm;
            changed[key] = less;
            return is_stable(changed, graph);
        });
        if (!found.empty()) {
            out.push_back(std::string("set /algorithm/") + key + " to " + found);
        }
    }
    return out;
}

std::string remedy(const Spec& spec, const graphs::Schedule& graph,
                   const graphs::GraphContext& context, const conform::Growth& growth) {
    const int most = growth.tolerance > 1e-4 ? kSampledSearchLimit : kSearchLimit;
    std::string text;
    if (context.n <= most) {
        text = stable_lazy(spec, context);
        for (const std::string& other : stable_momenta(spec, graph)) {
            text += (text.empty() ? "" : ", or ") + other;
        }
    }
    if (!text.empty()) return text;
    return "choose a static undirected graph with \"lazy\": 0.5, or the algorithm dsgd or "
           "gradient_tracking";
}

std::string name_of(const Json& algorithm) { return algorithm.at("type"); }

}  // namespace

conform::Growth growth_on(const Json& algorithm, const graphs::Schedule& graph) {
    const auto* row = base::find_entry(algorithms::algorithm_table(), name_of(algorithm));
    if (row->traits.graph == algorithms::GraphNeed::none) {
        throw UserError("--algorithm: " + row->name + " uses no graph: choose another algorithm");
    }
    return conform::growth(algorithm, graph);
}

Json stability_json(const Json& algorithm, const conform::Growth& growth) {
    Json out = conform::to_json(growth);
    out["algorithm"] = name_of(algorithm);
    return out;
}

std::string stability_text(const Json& algorithm, const conform::Growth& growth) {
    return base::column("growth of " + name_of(algorithm), 26) + conform::to_text(growth) + "\n";
}

conform::Growth check_stability(const Spec& spec, const graphs::Schedule& graph,
                                const graphs::GraphContext& context) {
    const conform::Growth growth = conform::growth(spec.algorithm, graph);
    if (growth.stable().value_or(true)) return growth;
    const bool of_mean = growth.mean > growth.disagreement.value_or(0);
    algorithms::Facts facts = algorithms::facts_of(spec.algorithm);
    facts.allow_unstable = spec.run.allow_unstable;
    facts.instability = {
        .graph = growth.graph.empty() ? graphs::graph_title(spec.graph) : growth.graph,
        .replicas = context.n,
        .of_mean = of_mean,
        .growth = of_mean ? growth.mean : *growth.disagreement,
        .per_exchange = growth.per_exchange,
        .remedy = facts.allow_unstable ? "" : remedy(spec, graph, context, growth)};
    algorithms::require_compatible(facts);
    return growth;
}

}  // namespace dbench::program
