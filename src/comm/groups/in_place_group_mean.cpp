#include "comm/groups/in_place_group_mean.hpp"

#include <algorithm>
#include <cstring>

#include "arena/tree.hpp"
#include "comm/groups/coded_mean.hpp"
#include "comm/groups/group_mean.hpp"

namespace dbench::comm {

void InPlaceGroupMean::combine(SharedRows means) const {
    const GroupPlan::Part& part = plan_.parts[plan_.me];
    const arena::Columns mine = cut(columns_, static_cast<int64_t>(plan_.parts.size()), plan_.me);
    if (mine.count() == 0) return;
    const int64_t size = arena::size_of(x_.type);
    const std::vector<const void*> rows = host_.rows_of(plan_, columns_.begin * travelling_size());
    char* const words = means.at(part.index) + (mine.begin - columns_.begin) * 2;
    char* const mean = options_.means_coded ? x_.at(plan_.rows[0], 0)
                                            : means.at(part.index) - columns_.begin * size;
    if (options_.codec == arena::Codec::identity) {
        std::vector<arena::Summand> leaves;
        for (const void* row : rows) {
            const auto p = static_cast<int64_t>(leaves.size());
            leaves.push_back({{p, p + 1}, row});
        }
        arena::tree_mean(x_.type, plan_.members, leaves, mean, mine);
        return;
    }
    std::vector<CodedRow> leaves;
    for (const void* row : rows) leaves.push_back({static_cast<const uint16_t*>(row), nullptr});
    coded_tree_mean(options_.codec, x_.type, leaves, mean, mine, arena::host_queue(), nullptr);
    if (!options_.means_coded) return;
    arena::encode(options_.codec, x_.type, mean + mine.begin * size,
                  reinterpret_cast<uint16_t*>(words), mine.count());
}

std::vector<int> InPlaceGroupMean::awaited_ranks() const {
    std::vector<int> ranks;
    for (const GroupPlan::Part& part : plan_.parts) {
        if (!host_.mean_ready(part.rank)) ranks.push_back(part.rank);
    }
    return ranks;
}

void InPlaceGroupMean::copy_to(char* row, arena::Columns columns) const {
    const auto parts = static_cast<int64_t>(plan_.parts.size());
    const int64_t size = arena::size_of(x_.type);
    const int64_t travelling = options_.means_coded ? travelling_size() : size;
    for (int64_t part = 0; part < parts; ++part) {
        const arena::Columns chunk = cut(columns_, parts, part);
        const int64_t begin = std::max(chunk.begin, columns.begin);
        const int64_t count = std::min(chunk.end, columns.end) - begin;
        if (count <= 0) continue;
        const GroupPlan::Part& owner = plan_.parts[part];
        const char* const from =
            host_.mean(owner.rank, owner.index) + (begin - columns_.begin) * travelling;
        char* const to = row + (begin - columns.begin) * size;
        if (options_.means_coded) {
            arena::decode(options_.codec, x_.type, reinterpret_cast<const uint16_t*>(from), to,
                          count);
        } else if (to != from) {
            std::memcpy(to, from, static_cast<size_t>(count * size));
        }
    }
}

void InPlaceGroupMean::copy_to(arena::Rows out, arena::Columns columns) const {
    for (const int64_t row : plan_.rows) copy_to(out.at(row, columns.begin), columns);
}

}  // namespace dbench::comm
