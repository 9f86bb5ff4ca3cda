#include "comm/host_mean.hpp"

#include <algorithm>
#include <cstring>

#include "arena/tree.hpp"
#include "comm/group_mean.hpp"

namespace dbench::comm {

void HostMean::combine() {
    const auto parts = static_cast<int64_t>(plan_.parts.size());
    const arena::Columns mine = cut(columns_, parts, plan_.me);
    if (mine.count() == 0) return;
    std::vector<arena::Summand> leaves;
    for (const void* row : host_.rows_of(plan_)) {
        const auto p = static_cast<int64_t>(leaves.size());
        leaves.push_back({{p, p + 1}, row});
    }
    arena::tree_mean(x_.type, plan_.members, leaves, x_.at(plan_.rows[0], 0), mine);
}

void HostMean::copy_to(arena::Rows out, arena::Columns columns) const {
    const int64_t size = arena::size_of(x_.type);
    const auto parts = static_cast<int64_t>(plan_.parts.size());
    for (int64_t part = 0; part < parts; ++part) {
        const arena::Columns chunk = cut(columns_, parts, part);
        const int64_t begin = std::max(chunk.begin, columns.begin);
        const int64_t end = std::min(chunk.end, columns.end);
        if (begin >= end) continue;
        const GroupPlan::Part& owner = plan_.parts[part];
        const char* const from = host_.row(owner.rank, owner.rows[0]) + begin * size;
        for (const int64_t row : plan_.rows) {
            char* const to = out.at(row, begin);
            if (to != from) std::memcpy(to, from, static_cast<size_t>((end - begin) * size));
        }
    }
}

}  // namespace dbench::comm
