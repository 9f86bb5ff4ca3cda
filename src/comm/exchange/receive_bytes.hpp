#pragma once
// The receive buffers of a mixing, computed from its plan.

#include <cstdint>

#include "arena/layout.hpp"
#include "arena/messages/element_codec.hpp"
#include "arena/rows.hpp"
#include "comm/plans/mixing_plan.hpp"

namespace dbench::comm {

/// Returns the bytes of receive buffers that start_mix over all columns needs on the plan's rank,
/// if `codec` encodes the rows of `type` in messages.
int64_t receive_bytes(const MixingPlan& plan, const arena::Layout& layout,
                      arena::ElementCodec codec, arena::DType type);
/// Returns the same for rank 0 of `placement` in a round of `schedule`. No rank needs to run.
int64_t receive_bytes(const graphs::Schedule& schedule, graphs::Round round,
                      const Placement& placement, const arena::Layout& layout,
                      arena::ElementCodec codec, arena::DType type);

}  // namespace dbench::comm
