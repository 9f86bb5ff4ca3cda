#include "comm/group_mean.hpp"

#include <algorithm>
#include <cstring>

namespace dbench::comm {
namespace {

using arena::Columns;

constexpr int64_t kTile = 16384;  // columns that are still in cache when they are copied

/// Where a row's column 0 would be if its column `column` were at `data`.
char* column_zero(char* data, int64_t column, arena::DType type) {
    return data - column * arena::size_of(type);
}

}  // namespace

Columns cut(Columns columns, int64_t parts, int64_t index) {
    constexpr int64_t kUnit = arena::kColumnAlignment;
    const int64_t units = (columns.count() + kUnit - 1) / kUnit;
    const auto bound = [&](int64_t i) {
        return std::min(columns.begin + units * i / parts * kUnit, columns.end);
    };
    return {bound(index), bound(index + 1)};
}

void local_group_mean(const GroupPlan& plan, arena::Rows x, Columns columns, arena::Rows out) {
    std::vector<arena::Summand> leaves;
    for (int64_t p = 0; p < plan.members; ++p) {
        leaves.push_back({{p, p + 1}, x.at(plan.rows[p], 0)});
    }
    for (int64_t begin = columns.begin; begin < columns.end; begin += kTile) {
        const Columns tile{begin, std::min(begin + kTile, columns.end)};
        const auto bytes = static_cast<size_t>(tile.count() * arena::size_of(x.type));
        char* const first = out.at(plan.rows[0], 0);
        arena::tree_mean(x.type, plan.members, leaves, first, tile);
        for (size_t i = 1; i < plan.rows.size(); ++i) {
            std::memcpy(out.at(plan.rows[i], begin), out.at(plan.rows[0], begin), bytes);
        }
    }
}

GroupMean::GroupMean(const GroupPlan& plan, arena::Rows x, Columns columns, ScratchPool& pool,
                     bool in_place)
    : plan_(plan), x_(x), columns_(columns), pool_(pool) {
    result_ = in_place ? x.at(plan.rows[0], 0) : take(columns);
}

void GroupMean::reduce() {
    const GroupPlan::Part& mine = plan_.parts[plan_.me];
    for (const arena::Interval node : mine.nodes) {
        std::vector<arena::Summand> leaves;
        for (int64_t p = node.begin; p < node.end; ++p) {
            leaves.push_back({{p, p + 1}, x_.at(plan_.rows[p - mine.positions.begin], 0)});
        }
        if (leaves.size() == 1) {  // straight from x
            nodes_.push_back(leaves[0]);
            continue;
        }
        char* const mean = take(columns_);
        arena::tree_mean(x_.type, plan_.members, leaves, mean, columns_);
        nodes_.push_back({node, mean});
    }
}

void GroupMean::list_scatter(int tag, std::vector<Message>& out, std::vector<Message>& in) {
    const Columns my_chunk = chunk(plan_.me);
    received_.resize(plan_.parts.size());
    for (size_t part = 0; part < plan_.parts.size(); ++part) {
        if (static_cast<int>(part) == plan_.me) continue;
        if (const Columns theirs = chunk(part); theirs.count() > 0) {
            for (const arena::Summand& node : nodes_) {
                out.push_back(message(part, tag, const_cast<void*>(node.row), theirs));
            }
        }
        if (my_chunk.count() == 0) continue;
        for (const arena::Interval node : plan_.parts[part].nodes) {
            char* const row = take(my_chunk);
            received_[part].push_back({node, row});
            in.push_back(message(part, tag, row, my_chunk));
        }
    }
}

void GroupMean::combine() {
    const Columns my_chunk = chunk(plan_.me);
    if (my_chunk.count() == 0) return;
    received_[plan_.me] = nodes_;
    std::vector<arena::Summand> all;
    for (const auto& nodes : received_) all.insert(all.end(), nodes.begin(), nodes.end());
    arena::tree_mean(x_.type, plan_.members, all, result_, my_chunk);
}

void GroupMean::list_gather(int tag, std::vector<Message>& out, std::vector<Message>& in) {
    for (size_t part = 0; part < plan_.parts.size(); ++part) {
        if (static_cast<int>(part) == plan_.me) continue;
        const Columns mine = chunk(plan_.me), theirs = chunk(part);
        if (mine.count() > 0) out.push_back(message(part, tag, result_, mine));
        if (theirs.count() > 0) in.push_back(message(part, tag, result_, theirs));
    }
}

void GroupMean::copy_to(arena::Rows out) const {
    const auto bytes = static_cast<size_t>(columns_.count() * arena::size_of(x_.type));
    for (const int64_t row : plan_.rows) {
        char* const to = out.at(row, columns_.begin);
        char* const from = at(result_, columns_);
        if (to != from) std::memcpy(to, from, bytes);
    }
}

Columns GroupMean::chunk(size_t part) const {
    return cut(columns_, static_cast<int64_t>(plan_.parts.size()), static_cast<int64_t>(part));
}

char* GroupMean::take(Columns columns) {
    memory_.push_back(pool_.take(columns.count() * arena::size_of(x_.type)));
    return column_zero(memory_.back().get(), columns.begin, x_.type);
}

char* GroupMean::at(void* row, Columns columns) const {
    return static_cast<char*>(row) + columns.begin * arena::size_of(x_.type);
}

Message GroupMean::message(size_t part, int tag, void* row, Columns columns) const {
    return {plan_.parts[part].rank, tag, at(row, columns),
            columns.count() * arena::size_of(x_.type)};
}

}  // namespace dbench::comm
