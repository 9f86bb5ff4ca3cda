#include <unistd.h>

#include <fstream>
#include <string>

#include "catch.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/transport/mpi_transports.hpp"

namespace dbench::comm::tests {
namespace {

/// Returns how many shared files this process has mapped: its own and those of other
/// ranks.
int64_t shared_mappings() {
    std::ifstream maps("/proc/self/maps");
    int64_t count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find("dbench-rows") != std::string::npos;
    return count;
}

}  // namespace

TEST_CASE("An Exchange unmaps the memory of other ranks when it is destroyed") {
    World world{launch()};
    const arena::Layout layout = awkward_layout();
    const int n = world.size();
    const DenseSchedule graph = complete(n);
    const Placement placement{n, n};
    const arena::DType type = arena::DType::float64;
    const arena::Buffer start = replicas(layout, type, placement.begin(world.rank()), 1);
    const arena::Buffer expected = mixed_alone(graph, layout, type);
    const int64_t before = shared_mappings();
    for (int run = 0; run < 3; ++run) {
        {
            Exchange exchange(world, placement, layout, &graph, Reduction::reproducible);
            CHECK(check_rows_in_place(exchange, layout, start, expected) == "");
            if (n > 1) CHECK(shared_mappings() > before);
        }
        world.barrier();
        CHECK(shared_mappings() == before);
    }
}

}  // namespace dbench::comm::tests
