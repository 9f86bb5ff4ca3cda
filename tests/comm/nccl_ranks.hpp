#pragma once
// Ranks that are threads and whose rows move over the stand-in for NCCL.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "comm/environment.hpp"
#include "comm/nccl/nccl_transport.hpp"
#include "comm/nccl_stand_in.hpp"
#include "comm/ranks.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm::tests {

using Wrap = std::function<std::unique_ptr<RowTransport>(int rank, std::unique_ptr<RowTransport>)>;

/// Runs `part` on threads as ranks whose rows move over the stand-in. `wrap` wraps their
/// transports. A deadline of 20 s ends waits that would last forever.
inline std::vector<std::string> play_nccl(NcclStandIn& device, int ranks,
                                          const std::function<std::string(World&)>& part,
                                          const Wrap& wrap = {}) {
    const Environment timeout("DBENCH_TIMEOUT", "20");
    return play(ranks, [&](World& world) {
        auto transport = join_nccl(world, device.parts(world.slot()), 0);
        if (wrap) transport = wrap(world.slot(), std::move(transport));
        world.use_row_transport(std::move(transport));
        return part(world);
    });
}

/// Does the same and expects no error.
inline void check_nccl(int ranks, const std::function<std::string(World&)>& part,
                       uint64_t seed = 1) {
    NcclStandIn device(ranks, seed);
    for (const std::string& problem : play_nccl(device, ranks, part)) CHECK(problem == "");
    CHECK(device.problem() == "");
}

/// Returns a layout with enough columns for all `cuts`, and few enough for many rounds.
inline arena::Layout short_layout() {
    arena::Layout layout;
    layout.add("a", {3, 5}, arena::TensorKind::weight);
    layout.add("b", {1100}, arena::TensorKind::weight);
    layout.add("c", {77}, arena::TensorKind::bias);
    return layout;
}

}  // namespace dbench::comm::tests
