#include "comm/exchange/receive_bytes.hpp"

namespace dbench::comm {

int64_t receive_bytes(const MixingPlan& plan, const arena::Layout& layout,
                      arena::ElementCodec codec, arena::DType type) {
    const bool coded = codec != arena::ElementCodec::identity;
    int64_t rows = 0, travelling = plan.received_rows + (coded ? plan.rows_sent : 0);
    for (const GroupPlan& group : plan.groups) {
        if (group.local()) continue;
        int64_t nodes = 0;
        for (const auto& part : group.parts) nodes += static_cast<int64_t>(part.nodes.size());
        const auto parts = static_cast<int64_t>(group.parts.size());
        const auto mine = static_cast<int64_t>(group.parts[group.me].nodes.size());
        const int64_t chunks = (nodes + parts - 1) / parts;
        // The mean, this rank's subtrees, and one chunk of all subtrees.
        rows += 1 + (group.reduces_first() ? mine : 0);
        travelling += chunks + (coded ? mine : 0);
    }
    return layout.columns() *
           (rows * arena::size_of(type) + travelling * arena::size_of(codec, type));
}

int64_t receive_bytes(const graphs::Schedule& schedule, graphs::Round round,
                      const Placement& placement, const arena::Layout& layout,
                      arena::ElementCodec codec, arena::DType type) {
    const auto contribution =
        codec == arena::ElementCodec::identity ? Contribution::subtrees : Contribution::rows;
    return receive_bytes(make_mixing_plan(schedule, round, placement, 0, contribution), layout,
                         codec, type);
}

}  // namespace dbench::comm
