#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "bench/commands.hpp"
#include "graphs/certificate.hpp"
#include "graphs/drawing.hpp"

namespace dbench::bench {

using base::Json;

int command_graph(const GraphArguments& arguments) {
    Json spec{{"type", arguments.type}};
    for (const auto& [key, text] : arguments.parameters) {
        Json value = Json::parse(text, nullptr, false);
        spec[key] = value.is_discarded() ? Json(text) : value;
    }
    const auto schedule = graphs::make_graph(spec, {arguments.n, arguments.seed}, "graph");
    if (arguments.matrix || arguments.edges) {
        const graphs::Round round = schedule->at(arguments.round);
        if (arguments.matrix) graphs::print_matrix(std::cout, *schedule, round);
        if (arguments.edges) graphs::print_edges(std::cout, *schedule, round);
        return 0;
    }
    const graphs::Certificate certificate = graphs::certify(*schedule, arguments.type);
    if (arguments.json) {
        std::cout << graphs::to_json(certificate).dump(2) << "\n";
    } else {
        std::cout << graphs::to_text(certificate);
    }
    return 0;
}

}  // namespace dbench::bench
