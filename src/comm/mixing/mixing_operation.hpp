#pragma once
// One exchange in flight: a mixing plan carried out for one range of columns. Exchange makes it.
//
// Life of an operation:
//   0. The routes are chosen (choose_routes.hpp), and each becomes one object (mixing_route.hpp).
//   1. begin     Copies or encodes rows that travel, if needed (travelling_rows.hpp); starts all
//                routes.
//   2. advance   The engine calls it until all routes have moved.
//   3. finish    Asks the routes for the rows that have arrived, and writes the weighted sums to
//                `out` (mixing_operation_finish.cpp; coded_mixing.hpp for 16-bit rows).
//
// The operation itself knows no route: it calls the steps of each.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "arena/rows.hpp"
#include "comm/mixing/mixing_context.hpp"
#include "comm/world/engine.hpp"

namespace dbench::comm {

class MixingRoute;
class TravellingRows;

/// Carries out one plan. The main thread begins and finishes it; any thread of the engine may
/// advance it.
class MixingOperation : public OperationInFlight {
public:
    /// `average`: W x. `change`: (W - I) x.
    enum class Result : uint8_t { average, change };
    using Then = std::function<void(arena::Columns)>;
    /// See Exchange::UseTerms.
    using UseTerms = std::function<bool(std::span<const std::vector<arena::Term>>)>;

    /// Prepares the exchange; starts nothing.
    explicit MixingOperation(MixingContext context);
    ~MixingOperation() override;

    /// Starts everything that needs no arithmetic. Returns true if arithmetic remains before the
    /// first messages of groups can be sent. `advance` does it; the caller then leaves the first
    /// advance to the progress thread, so that backward continues.
    bool begin();

    /// The rows x.
    arena::Rows rows() const { return context_.x; }
    arena::Columns columns() const { return context_.columns; }
    /// The shared memory in which rows are read; null if all rows travel as messages.
    InPlaceExchange* in_place() const { return context_.in_place.get(); }
    /// True if queues alone order the arriving rows before later launches: the caller need not wait
    /// before `finish`, and rows may still be moving when `finish` returns.
    bool ordered() const { return context_.transport.queue() && !context_.place.immediate(); }
    /// True if something moves between ranks, so that the engine must poll the operation.
    bool moves() const;

    /// Writes `out` = W x or (W - I) x, piece by piece, and calls `then` (if set) after each piece.
    /// Requires that the operation is done, or ordered. `out` may be x only for W x, and with
    /// in-place reads only for an all-reduce.
    void finish(arena::Rows out, Result result, const std::vector<arena::Columns>& pieces,
                const Then& then);
    /// Passes the terms to `use`; see Exchange::finish_mix.
    bool finish(const UseTerms& use);

protected:
    bool advance() override;
    std::vector<int> awaited_ranks() const override;

private:
    /// Marks the rows as read and releases scratch memory.
    void end();
    /// Writes the result from differences of 16-bit rows.
    void finish_coded(arena::Rows out, Result result, const std::vector<arena::Columns>& pieces,
                      const Then& then);
    /// Writes the result as weighted sums.
    void finish_uncoded(arena::Rows out, Result result, const std::vector<arena::Columns>& pieces,
                        const Then& then);
    /// Returns the addresses of column 0 of the received rows, by index in the plan.
    std::vector<const char*> received_rows() const;
    /// Returns the terms of all local rows that are in no group.
    std::vector<std::vector<arena::Term>> terms() const;
    /// Returns the terms of all local rows. Rows of groups are taken from `out`, which holds their
    /// mean.
    std::vector<std::vector<arena::Term>> terms(arena::Rows out) const;
    /// Returns the terms for weighted_changes: each row itself comes first, with weight 0 if W
    /// gives it none.
    std::vector<std::vector<arena::Term>> change_terms(arena::Rows out) const;

    const MixingContext context_;
    std::unique_ptr<TravellingRows> travelling_;
    std::vector<std::unique_ptr<MixingRoute>> routes_;  // in the order in which they start
    /// The point on the context's queue after all messages of this operation and before those of
    /// later operations.
    arena::Event moved_{};
};

}  // namespace dbench::comm
