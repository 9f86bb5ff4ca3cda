// The route of groups between ranks if the transport has a queue (NCCL): all steps start at once,
// with the launches between them on the same queue. The queue keeps their order, and the host waits
// for none of them.

#include "comm/mixing/spanning_groups.hpp"

namespace dbench::comm {
namespace {

class GroupsOnQueue : public SpanningGroups {
public:
    GroupsOnQueue(const MixingContext& context, const TravellingRows& rows)
        : SpanningGroups(context, rows, GroupRoute::queue, context.all_reduce) {}

    bool start() override {
        reduce_and_scatter();
        combine_and_gather();
        return false;
    }

    bool advance() override { return moved(); }
};

}  // namespace

std::unique_ptr<MixingRoute> groups_on_queue(const MixingContext& context,
                                             const TravellingRows& rows) {
    return std::make_unique<GroupsOnQueue>(context, rows);
}

}  // namespace dbench::comm
