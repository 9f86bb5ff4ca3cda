#include "program/rank_values.hpp"

#include "base/framing.hpp"

namespace dbench::program {

double mean_over_ranks(comm::World& world, double value) {
    std::vector<double> sum{value};
    world.sum(sum);
    return sum[0] / world.size();
}

std::vector<double> gather_values(comm::World& world, const std::vector<double>& values) {
    return base::doubles_of(world.gather(base::bytes_of(values)));
}

}  // namespace dbench::program
