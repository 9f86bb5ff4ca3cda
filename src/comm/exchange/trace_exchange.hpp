#pragma once  // Private to comm/exchange.
// The trace of the start of an exchange: what this rank sends to whom, and what it will receive.

#include <cstdint>
#include <memory>

#include "arena/rows.hpp"
#include "comm/mixing/choose_routes.hpp"
#include "comm/plans/delivery_plan.hpp"
#include "comm/plans/mixing_plan.hpp"
#include "comm/world/exchange_trace.hpp"

namespace dbench::comm {

/// Identifies an exchange on all ranks: by its number. `rank` is this rank.
struct TracedNumber {
    uint64_t exchange;
    int rank, ranks;
};

/// Adds the messages that this rank sends to the trace, and returns what the end of the exchange
/// adds. Rows that are read in place count as messages; the library's sums are not shown. All that
/// one rank sends to another in the exchange is one message. `element` is the number of bytes of an
/// element that travels. Null if no iteration is traced.
std::unique_ptr<ExchangeTrace> trace_mixing(TracedNumber number, const MixingPlan& plan,
                                            const Routes& routes, arena::Columns columns,
                                            int64_t element);
/// Does the same for opaque messages of `bytes` bytes each.
std::unique_ptr<ExchangeTrace> trace_delivery(TracedNumber number, const DeliveryPlan& plan,
                                              int64_t bytes);

}  // namespace dbench::comm
