#include "graphs/families.hpp"

#include <nlohmann/json.hpp>

namespace dbench::graphs {

GraphEntry graph_entry(std::string name, std::string help, std::vector<base::Parameter> parameters,
                       Make make) {
    GraphEntry entry;
    entry.name = std::move(name);
    entry.help = std::move(help);
    entry.parameters = std::move(parameters);
    entry.make = make;
    return entry;
}

std::vector<base::Parameter> with_weights(std::vector<base::Parameter> parameters) {
    for (auto& parameter : weight_parameters()) parameters.push_back(std::move(parameter));
    return parameters;
}

std::unique_ptr<Schedule> weighted_graph(const TopologyPtr& topology, const base::Json& spec,
                                         const std::string& pointer) {
    return always(weighted(topology, spec, pointer));
}

int ceil_log2(int64_t n) {
    int bits = 0;
    while ((int64_t{1} << bits) < n) ++bits;
    return bits;
}

}  // namespace dbench::graphs
