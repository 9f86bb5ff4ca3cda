#include "bench/setup.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

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

// A graph whose certificate does not suit the algorithm is refused.
void check_graph(const graphs::Certificate& c, const std::string& algorithm) {
    const std::string which = "/graph: " + c.type + " with " + std::to_string(c.n) + " replicas";
    if (!c.row_stochastic || !c.column_stochastic) {
        throw UserError(
            which + " is not doubly stochastic (" + (c.row_stochastic ? "columns" : "rows") +
            " of W do not sum to 1, so averaging would bias the mean), but " + algorithm +
            " needs that: choose \"weights\": \"metropolis\" or another "
            "graph");
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
        if (!s.spec.graph.is_null()) {
            const auto size = static_cast<int>(n);
            s.schedule = graphs::make_graph(s.spec.graph, {size, seeds.graph}, "/graph");
            if (world.rank() == 0) {
                s.certificate = graphs::certify(*s.schedule, s.spec.graph.at("type"));
                check_graph(*s.certificate, s.spec.algorithm.at("type"));
            }
        }
    });
    everywhere(world, [&] {
        s.session = std::make_unique<train::Session>(
            world, s.placement,
            train::SessionOptions{s.spec.resolved, s.spec.algorithm, seeds.init, seeds.data,
                                  seeds.augment, s.schedule.get()});
    });
    return s;
}

}  // namespace dbench::bench
