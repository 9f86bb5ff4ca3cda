#include "bench/setup.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/log.hpp"

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

// A graph whose matrices do not suit the algorithm is refused, or warned of where the spec allows
// it.
void check_graph(const graphs::Sums& sums, const std::string& graph, const Spec& spec) {
    if (sums.rows && sums.columns) return;
    const std::string what =
        "/graph: " + graph + " is not doubly stochastic (" + (sums.rows ? "columns" : "rows") +
        " of W do not sum to 1, so averaging " + (sums.rows ? "biases" : "does not keep") +
        " the mean), but " + spec.algorithm.at("type").get<std::string>() + " needs that";
    if (spec.resolved.at("allow_biased") == true) return base::warn(what);
    throw UserError(what +
                    ": choose \"weights\": \"metropolis\" or another graph, or accept it with "
                    "\"allow_biased\": true");
}

// Every graph that a run may come to is checked; the first one gets the certificate.
void certify(Setup& s) {
    const std::string type = graphs::graph_title(s.spec.graph);
    s.certificate = graphs::certify(*s.schedule, type);
    if (!s.staged) {
        check_graph({s.certificate->row_stochastic, s.certificate->column_stochastic},
                    type + " with " + std::to_string(s.placement.replicas) + " replicas", s.spec);
        return;
    }
    for (size_t k = 0; k < s.staged->graphs(); ++k) {
        check_graph(graphs::sums(s.staged->graph(k)), s.staged->name(k), s.spec);
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
    });
    std::string text = Json{
        {"resolved", spec.resolved},
        {"algorithm", spec.algorithm},
        {"graph", spec.graph},
        {"output",
         spec.output}}.dump();
    world.broadcast(text);
    const Json all = Json::parse(text);
    return {all.at("resolved"), all.at("algorithm"), all.at("graph"), all.at("output")};
}

Setup set_up(comm::World& world, const RunArguments& arguments) {
    Setup s;
    s.spec = read_everywhere(world, arguments);
    const Json& resolved = s.spec.resolved;
    const int64_t n = resolved.at("replicas");
    const Seeds seeds = seeds_of(resolved);
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
        s.schedule = graphs::make_graph(s.spec.graph, {size, seeds.graph, run}, "/graph");
        s.staged = dynamic_cast<graphs::Staged*>(s.schedule.get());
        if (world.rank() == 0) certify(s);
    };
    const bool planned = graphs::depends_on_run(s.spec.graph);
    everywhere(world, [&] {
        if (!s.spec.graph.is_null() && !planned) make({});
    });
    train::SessionOptions options{s.spec.resolved, s.spec.algorithm, seeds.init,
                                  seeds.data,      seeds.augment,    nullptr};
    if (!s.spec.graph.is_null()) {
        options.schedule = [&](const graphs::RunFacts& run) {
            if (planned) make(run);
            return s.schedule.get();
        };
    }
    everywhere(world,
               [&] { s.session = std::make_unique<train::Session>(world, s.placement, options); });
    return s;
}

}  // namespace dbench::bench
