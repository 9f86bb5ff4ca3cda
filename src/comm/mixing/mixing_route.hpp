#pragma once  // Private to comm/mixing.
// One route of an exchange: one way in which rows of neighbours reach this rank, or in which groups
// are averaged. Each route is one class in one source of this folder; the functions at the end make
// them. choose_routes.hpp chooses which ones an exchange uses.
//
// The messages of one exchange share a tag. Both sides start them in the same order (rows, scatter,
// gather; within a step by group, then by tree node), and they arrive in this order.

#include <memory>
#include <vector>

#include "arena/kernels.hpp"
#include "arena/rows.hpp"
#include "comm/mixing/coded_mixing.hpp"
#include "comm/mixing/mixing_context.hpp"

namespace dbench::comm {

class TravellingRows;

/// The terms of each local row (rows and weights), as for arena::weighted_means.
using RowTerms = std::vector<std::vector<arena::Term>>;

/// The steps of a route. The main thread calls `start` once. When all rows have arrived, it calls
/// `finish_means` and the functions below it. With a transport that has a queue it may call them
/// earlier, after it has ordered the compute queue after the rows. Any thread may call `advance`
/// and `awaited_ranks`, one thread at a time, until the route is done. A function that a route does
/// not need does nothing.
class MixingRoute {
public:
    virtual ~MixingRoute() = default;

    /// Starts everything that needs no arithmetic. Returns true if arithmetic remains before the
    /// first message can be sent; `advance` does it.
    virtual bool start() { return false; }
    /// True if the engine must poll the route. Called after `start`.
    virtual bool moves() const { return false; }
    /// Takes the next possible steps; returns true if none are left.
    virtual bool advance() { return true; }
    /// Returns the ranks that the next step depends on.
    virtual std::vector<int> awaited_ranks() const { return {}; }

    /// Computes what remains of means that have arrived.
    virtual void finish_means() {}
    /// Sets the address of each row that has arrived on this route, by its index in the plan.
    virtual void locate_rows(std::vector<const char*>&) const {}
    /// Writes the means of this route's groups to the groups' rows of `out`.
    virtual void write_means(arena::Rows, arena::Columns) const {}
    /// Sets where CodedMixing finds the means of this route's groups, by group of the plan.
    virtual void locate_coded_means(std::vector<CodedGroup>&) const {}
    /// Sets the terms of the rows of this route's groups. Returns false if their mean is not a sum
    /// of at most two rows that exist.
    virtual bool set_terms_of_means(RowTerms&) const { return true; }
    /// Releases scratch memory, even if the caller keeps the token to reclaim the rows. Launches on
    /// the compute queue keep their own references. Leaves everything that `advance` uses.
    virtual void release() {}
};

/// Sets the terms of the rows of a group of two from its rows by position, since (a + b) / 2 is the
/// mean a + (b - a) / 2. Returns false for other groups.
bool set_terms_of_pair(const GroupPlan& group, const std::vector<const void*>& rows,
                       RowTerms& terms);

/// All routes keep references to the context and to the rows.
std::unique_ptr<MixingRoute> neighbours_by_message(const MixingContext& context,
                                                   const TravellingRows& rows);
std::unique_ptr<MixingRoute> neighbours_in_place(const MixingContext& context);
std::unique_ptr<MixingRoute> local_groups(const MixingContext& context);
std::unique_ptr<MixingRoute> groups_read_whole(const MixingContext& context);
std::unique_ptr<MixingRoute> groups_in_chunks(const MixingContext& context);
std::unique_ptr<MixingRoute> group_by_host(const MixingContext& context);
std::unique_ptr<MixingRoute> groups_by_message(const MixingContext& context,
                                               const TravellingRows& rows);
std::unique_ptr<MixingRoute> groups_on_queue(const MixingContext& context,
                                             const TravellingRows& rows);
std::unique_ptr<MixingRoute> group_by_library(const MixingContext& context,
                                              const TravellingRows& rows);

/// Makes the routes of the context, in the order in which they start.
std::vector<std::unique_ptr<MixingRoute>> make_routes(const MixingContext& context,
                                                      const TravellingRows& rows);

}  // namespace dbench::comm
