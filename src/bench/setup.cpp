#include "bench/setup.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "bench/stability.hpp"

namespace dbench::bench {

using base::Json;
using base::UserError;

namespace {

std::string default_name(const std::string& path) {
    std::string name = std::filesystem::path(path).stem().string();
    for (char& c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.')
            c = '_';
    }
    return name.empty() ? "run" : name;
}

const algorithms::AlgorithmEntry& algorithm_of(const Spec& spec) {
    return *base::find_entry(algorithms::algorithm_table(),
                             spec.algorithm.at("type").get<std::string>());
}

// A graph whose matrices do not suit the algorithm is refused, or warned of where the spec allows
// it.
void check_graph(const graphs::Schedule& graph, const std::string& name, const Spec& spec) {
    const algorithms::AlgorithmEntry& algorithm = algorithm_of(spec);
    const algorithms::Accepts& accepts = algorithm.accepts;
    const graphs::Sums sums = graphs::sums(graph);
    std::string what, remedy;
    const bool by_columns = accepts.graph == algorithms::GraphNeed::column_stochastic;
    if (by_columns && !sums.columns) {
        what = " is not column stochastic (what a replica sends does not sum to what it has)";
        remedy = "choose \"weights\": \"column\" or another graph";
    } else if (!by_columns && (!sums.rows || !sums.columns)) {
        what = " is not doubly stochastic (" + std::string(sums.rows ? "columns" : "rows") +
               " of W do not sum to 1, so averaging " + (sums.rows ? "biases" : "does not keep") +
               " the mean)";
        remedy = "choose \"weights\": \"metropolis\", another graph, or the algorithm sgp";
    } else if (accepts.graph == algorithms::GraphNeed::tree && !graphs::is_tree(graph)) {
        throw UserError("/graph: " + name + " is not a tree, but " + algorithm.name +
                        " relays along one: choose tree, path or star");
    } else if (!accepts.sequences && graph.period() != 1) {
        throw UserError("/graph: " + name + " changes from round to round, but " + algorithm.name +
                        " needs a static graph: choose one such as ring or torus, or the "
                        "algorithm dsgd");
    } else if (accepts.graph == algorithms::GraphNeed::symmetric) {
        const graphs::Symmetry symmetry = graphs::symmetry(graph);
        if (!symmetry.symmetric) {
            what = " is directed (W is not symmetric)";
            remedy =
                "choose an undirected graph such as ring or torus, or the algorithm "
                "gradient_tracking, which takes directed ones";
        } else if (symmetry.lambda_min <= accepts.lambda_min) {
            what = " has the eigenvalue " + base::short_text(Json(symmetry.lambda_min)) +
                   " (above " + base::short_text(Json(accepts.lambda_min)) + " is asked for)";
            remedy =
                "set \"lazy\": 0.5 in the graph, or choose the algorithm exact_diffusion, "
                "which mixes by halves";
        }
    }
    if (what.empty()) return;
    what = "/graph: " + name + what + ", but " + algorithm.name + " needs that";
    if (spec.run.allow_biased) return base::warn(what);
    throw UserError(what + ": " + remedy + ", or accept it with \"allow_biased\": true");
}

// Every graph that a run may come to is checked; the first one gets the certificate.
void certify(Setup& s) {
    const std::string type = graphs::graph_title(s.spec.graph);
    s.certificate = graphs::certify(*s.graph, type);
    const graphs::Staged* staged = s.graph->staged();
    if (!staged) {
        return check_graph(
            *s.graph, type + " with " + std::to_string(s.placement.replicas) + " replicas", s.spec);
    }
    if (!algorithm_of(s.spec).accepts.sequences) return check_graph(*s.graph, type, s.spec);
    for (size_t k = 0; k < staged->graphs(); ++k) {
        check_graph(staged->graph(k), staged->name(k), s.spec);
    }
}

}  // namespace

Spec read_everywhere(comm::World& world, const RunArguments& arguments) {
    Spec spec;
    everywhere(world, [&] {
        if (world.rank() != 0) return;
        spec = resolve_spec(read_spec(arguments.spec_path, arguments.settings),
                            default_name(arguments.spec_path));
        if (!arguments.output.empty()) spec.output = arguments.output;
        if (!base::is_utf8(spec.output)) {
            throw UserError(
                "--output: is not UTF-8 (the result file holds the command): choose "
                "another name");
        }
    });
    std::string text = Json{
        {"resolved", spec.resolved},
        {"algorithm", spec.algorithm},
        {"graph", spec.graph},
        {"output",
         spec.output}}.dump();
    world.broadcast(text);
    const Json all = Json::parse(text);
    return spec_of(all.at("resolved"), all.at("algorithm"), all.at("graph"), all.at("output"));
}

Setup set_up(comm::World& world, const RunArguments& arguments) {
    Setup s;
    s.spec = read_everywhere(world, arguments);
    const int64_t n = s.spec.run.replicas;
    everywhere(world, [&] {
        if (world.size() > n) {
            throw UserError("/replicas: " + std::to_string(world.size()) + " ranks for " +
                            std::to_string(n) +
                            " replicas (every rank needs at least one): start "
                            "at most " +
                            std::to_string(n) + " ranks, or raise /replicas");
        }
        s.placement = {n, world.size()};
    });
    // A graph that does not depend on the run is made first: its errors should not wait for data.
    const auto make = [&](const graphs::RunFacts& run) {
        const auto size = static_cast<int>(n);
        const graphs::GraphContext context{size, s.spec.run.seed.graph, run};
        s.graph = graphs::make_graph(s.spec.graph, context, "/graph");
        if (world.rank() != 0) return;
        certify(s);
        s.growth = check_stability(s.spec, *s.graph, context);
    };
    const bool planned = graphs::depends_on_run(s.spec.graph);
    everywhere(world, [&] {
        if (!s.spec.graph.is_null() && !planned) make({});
    });
    train::SessionOptions options{s.spec.run, s.spec.resolved, s.spec.algorithm, nullptr};
    if (!s.spec.graph.is_null()) {
        options.graph = [&](const graphs::RunFacts& run) {
            if (planned) make(run);
            return s.graph;
        };
    }
    everywhere(world,
               [&] { s.session = std::make_unique<train::Session>(world, s.placement, options); });
    return s;
}

}  // namespace dbench::bench
