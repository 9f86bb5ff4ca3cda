#include "program/rank_values.hpp"

#include "base/framing.hpp"

namespace dbench::program {

double mean_over_ranks(comm::World& world, double value) {
    std::vector<double> sum{value};
    world.sum(sum);
    return sum[0] / world.size();
}

std::vector<double> gather_values(comm::World& world, const std::vector<double>& values) {
    std::vector<double> all;
    for (const std::string& bytes : world.gather(base::bytes_of(values))) {
        const std::vector<double> of_rank = base::doubles_of(bytes);
        all.insert(all.end(), of_rank.begin(), of_rank.end());
    }
    return all;
}

}  // namespace dbench::program
