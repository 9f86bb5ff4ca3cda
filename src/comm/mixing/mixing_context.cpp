#include "comm/mixing/mixing_context.hpp"

namespace dbench::comm {

std::vector<size_t> MixingContext::groups_by(GroupRoute route) const {
    std::vector<size_t> indices;
    for (size_t g = 0; g < routes.groups.size(); ++g) {
        if (routes.groups[g] == route) indices.push_back(g);
    }
    return indices;
}

std::vector<const void*> MixingContext::local_rows(const GroupPlan& group) const {
    std::vector<const void*> rows;
    for (const int64_t row : group.rows) rows.push_back(x.at(row, 0));
    return rows;
}

std::unique_ptr<Transfer> MixingContext::start(const std::vector<Message>& out,
                                               const std::vector<Message>& in) const {
    if (!transport.queue()) arena::finish(queue(), "data to send");
    return transport.start(out, in);
}

}  // namespace dbench::comm
