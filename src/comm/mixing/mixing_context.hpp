#pragma once
// The facts of one exchange that its operation and all its routes share.

#include <cstdint>
#include <memory>
#include <vector>

#include "arena/device/place.hpp"
#include "arena/messages/element_codec.hpp"
#include "arena/rows.hpp"
#include "comm/host/in_place_exchange.hpp"
#include "comm/mixing/choose_routes.hpp"
#include "comm/plans/mixing_plan.hpp"
#include "comm/scratch.hpp"
#include "comm/transport/row_transport.hpp"

namespace dbench::comm {

/// One exchange, as its routes see it: a plan for one range of columns of the rows x. Exchange
/// fills it in, and the MixingOperation owns it.
struct MixingContext {
    RowTransport& transport;
    std::shared_ptr<ScratchPool> pool;
    std::shared_ptr<const MixingPlan> plan;
    Routes routes;
    arena::Rows x;
    arena::Columns columns;
    int tag;
    /// The result is the mean over all replicas, and may be written into x before the finish call.
    bool all_reduce;
    arena::ElementCodec codec = arena::ElementCodec::identity;
    /// The shared memory in which ranks of this host read rows; set if routes.in_place.
    std::shared_ptr<InPlaceExchange> in_place = nullptr;
    /// The place where x is computed. It is the host whenever rows are read in place.
    arena::Place place = {};

    bool coded() const { return codec != arena::ElementCodec::identity; }
    /// True if the mean of a group travels in the codec, too.
    bool means_coded() const { return coded() && all_reduce; }
    /// Bytes per element of a row that travels.
    int64_t travelling_size() const { return arena::size_of(codec, x.type); }
    /// Bytes of such a row before the first of `columns`: buffers hold only these columns, and
    /// addresses are those of column 0.
    int64_t bytes_before() const { return columns.begin * travelling_size(); }
    /// The queue on which rows are copied, encoded and reduced for sending: the transport's queue
    /// if it has one, else the place's exchange queue.
    arena::Queue& queue() const {
        return transport.queue() ? *transport.queue() : place.exchange();
    }
    /// Returns the indices of the plan's groups that are averaged in this way.
    std::vector<size_t> groups_by(GroupRoute route) const;
    /// Returns the group's rows of x on this rank; addresses of column 0.
    std::vector<const void*> local_rows(const GroupPlan& group) const;
    /// Starts messages after the launches that compute their contents.
    std::unique_ptr<Transfer> start(const std::vector<Message>& out,
                                    const std::vector<Message>& in) const;
};

}  // namespace dbench::comm
