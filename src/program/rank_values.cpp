#include "program/rank_values.hpp"

#include <nlohmann/json.hpp>

namespace dbench::program {

double mean_over_ranks(comm::World& world, double value) {
    std::vector<double> sum{value};
    world.sum(sum);
    return sum[0] / world.size();
}

std::vector<double> gather_values(comm::World& world, const std::vector<double>& values) {
    using nlohmann::json;
    std::vector<double> all;
    for (const std::string& text : world.gather(json(values).dump())) {
        for (const json& value : json::parse(text)) all.push_back(value.get<double>());
    }
    return all;
}

}  // namespace dbench::program
