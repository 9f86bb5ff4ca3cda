#include "comm/groups/group_mean.hpp"

#include <algorithm>
#include <cstring>

#include "arena/kernels.hpp"
#include "arena/traffic.hpp"
#include "comm/groups/coded_mean.hpp"

namespace dbench::comm {
namespace {

using arena::Columns;

constexpr int64_t kTile = 16384;  // columns that are still in the cache when they are copied

/// Returns the address of a row's column 0 if column `column` is at `data`; elements have `size`
/// bytes.
char* column_zero(char* data, int64_t column, int64_t size) { return data - column * size; }

}  // namespace

Columns cut(Columns columns, int64_t parts, int64_t index) {
    constexpr int64_t kUnit = arena::kColumnAlignment;
    const int64_t units = (columns.count() + kUnit - 1) / kUnit;
    const auto bound = [&](int64_t i) {
        return std::min(columns.begin + units * i / parts * kUnit, columns.end);
    };
    return {bound(index), bound(index + 1)};
}

void mean_of_rows(const GroupPlan& plan, std::span<const void* const> rows, Columns columns,
                  arena::Rows out, arena::ElementCodec codec, arena::Queue& queue,
                  ScratchPool& pool) {
    const bool coded = codec != arena::ElementCodec::identity;
    std::vector<arena::Summand> leaves;
    std::vector<CodedRow> rounded;
    for (int64_t p = 0; p < plan.members; ++p) {
        leaves.push_back({{p, p + 1}, rows[p]});
        rounded.push_back({nullptr, rows[p]});
    }
    if (!queue.immediate()) {  // one launch for all columns
        const arena::Rows first = out.only(plan.rows[0]);
        if (coded) {
            queue.keep(
                coded_tree_mean(codec, out.type, rounded, first.data, columns, queue, &pool));
            char* const mean = first.at(0, columns.begin);
            arena::quantize(codec, out.type, mean, mean, columns.count(), queue);
        } else {
            arena::tree_mean(out.type, plan.members, leaves, first.data, columns, queue);
        }
        for (size_t i = 1; i < plan.rows.size(); ++i) {
            arena::copy(first, out.only(plan.rows[i]), columns, queue);
        }
        return;
    }
    for (int64_t begin = columns.begin; begin < columns.end; begin += kTile) {
        const Columns tile{begin, std::min(begin + kTile, columns.end)};
        char* const first = out.at(plan.rows[0], begin);
        char* const mean = out.at(plan.rows[0], 0);
        if (coded) {
            coded_tree_mean(codec, out.type, rounded, mean, tile, queue, nullptr);
            arena::quantize(codec, out.type, first, first, tile.count());
        } else {
            arena::tree_mean(out.type, plan.members, leaves, mean, tile);
        }
        const auto copies = static_cast<int64_t>(plan.rows.size()) - 1;
        arena::count_passes(out.type, tile, copies > 0 ? 1 : 0, copies);
        for (size_t i = 1; i < plan.rows.size(); ++i) {
            std::memcpy(out.at(plan.rows[i], begin), first,
                        static_cast<size_t>(tile.count() * arena::size_of(out.type)));
        }
    }
}

GroupMean::GroupMean(const GroupPlan& plan, arena::Rows x, Columns columns, ScratchPool& pool,
                     Options options)
    : plan_(plan), x_(x), columns_(columns), pool_(pool), options_(options) {
    const int64_t size = arena::size_of(x.type);
    result_ = options.mean_into_x ? x.at(plan.rows[0], 0) : take(columns, size);
    gathered_ = options.gathers_coded ? take(columns, travelling_size()) : result_;
}

void GroupMean::reduce() {
    const GroupPlan::Part& mine = plan_.parts[plan_.me];
    for (const arena::Interval node : mine.nodes) {
        std::vector<arena::Summand> leaves;
        for (int64_t p = node.begin; p < node.end; ++p) {
            leaves.push_back({{p, p + 1}, x_.at(plan_.rows[p - mine.positions.begin], 0)});
        }
        if (leaves.size() == 1) {  // sent straight from x
            nodes_.push_back(leaves[0]);
        } else {
            char* const mean = take(columns_, arena::size_of(x_.type));
            arena::tree_mean(x_.type, plan_.members, leaves, mean, columns_, options_.queue);
            nodes_.push_back({node, mean});
        }
        sent_.push_back(nodes_.back().row);
        if (!coded()) continue;
        char* const words = take(columns_, travelling_size());
        encode(nodes_.back().row, words, columns_);
        sent_.back() = words;
    }
}

void GroupMean::list_scatter(int tag, std::vector<Message>& out, std::vector<Message>& in) {
    const Columns my_chunk = chunk(plan_.me);
    const int64_t size = travelling_size();
    received_.resize(plan_.parts.size());
    for (size_t part = 0; part < plan_.parts.size(); ++part) {
        if (static_cast<int>(part) == plan_.me) continue;
        if (const Columns theirs = chunk(part); theirs.count() > 0) {
            for (const void* row : sent_) out.push_back(message(part, tag, row, theirs, size));
        }
        if (my_chunk.count() == 0) continue;
        for (const arena::Interval node : plan_.parts[part].nodes) {
            char* const row = take(my_chunk, size);
            received_[part].push_back({node, row});
            in.push_back(message(part, tag, row, my_chunk, size));
        }
    }
}

void GroupMean::combine() {
    const Columns my_chunk = chunk(plan_.me);
    if (my_chunk.count() == 0) return;
    received_[plan_.me] = nodes_;
    if (coded()) {
        for (size_t k = 0; k < nodes_.size(); ++k) received_[plan_.me][k].row = sent_[k];
    }
    std::vector<arena::Summand> all;
    for (const auto& nodes : received_) all.insert(all.end(), nodes.begin(), nodes.end());
    if (coded()) {  // every row separately
        std::vector<CodedRow> rows;
        for (const arena::Summand& leaf : all) {
            rows.push_back({static_cast<const uint16_t*>(leaf.row), nullptr});
        }
        memory_.push_back(coded_tree_mean(options_.codec, x_.type, rows, result_, my_chunk,
                                          options_.queue,
                                          options_.queue.immediate() ? nullptr : &pool_));
    } else {
        arena::tree_mean(x_.type, plan_.members, all, result_, my_chunk, options_.queue);
    }
    if (options_.gathers_coded) encode(result_, gathered_, my_chunk);
}

void GroupMean::list_gather(int tag, std::vector<Message>& out, std::vector<Message>& in) {
    const int64_t size = options_.gathers_coded ? travelling_size() : arena::size_of(x_.type);
    for (size_t part = 0; part < plan_.parts.size(); ++part) {
        if (static_cast<int>(part) == plan_.me) continue;
        const Columns mine = chunk(plan_.me), theirs = chunk(part);
        if (mine.count() > 0) out.push_back(message(part, tag, gathered_, mine, size));
        if (theirs.count() > 0) in.push_back(message(part, tag, gathered_, theirs, size));
    }
}

void GroupMean::decode_result(arena::Queue& queue) {
    if (options_.gathers_coded) decode(gathered_, result_, columns_, queue);
}

void GroupMean::copy_to(arena::Rows out, Columns columns, arena::Queue& queue) const {
    const int64_t size = arena::size_of(x_.type);
    for (const int64_t row : plan_.rows) {
        if (!queue.immediate()) {
            const arena::Rows mean{result_, x_.type, x_.space, 0, 1, out.stride};
            arena::copy(mean, out.only(row), columns, queue);
            continue;
        }
        char* const to = out.at(row, columns.begin);
        const char* const from = result_ + columns.begin * size;
        if (to != from) std::memcpy(to, from, static_cast<size_t>(columns.count() * size));
    }
}

Columns GroupMean::chunk(size_t part) const {
    return cut(columns_, static_cast<int64_t>(plan_.parts.size()), static_cast<int64_t>(part));
}

char* GroupMean::take(Columns columns, int64_t size) {
    const std::shared_ptr<char> memory = pool_.take(columns.count() * size);
    memory_.push_back(memory);
    return column_zero(memory.get(), columns.begin, size);
}

Message GroupMean::message(size_t part, int tag, const void* row, Columns columns,
                           int64_t size) const {
    char* const first = static_cast<char*>(const_cast<void*>(row)) + columns.begin * size;
    return {plan_.parts[part].rank, tag, first, columns.count() * size};
}

void GroupMean::encode(const void* row, void* words, Columns columns) const {
    arena::encode(options_.codec, x_.type,
                  static_cast<const char*>(row) + columns.begin * arena::size_of(x_.type),
                  static_cast<uint16_t*>(words) + columns.begin, columns.count(), options_.queue);
}

void GroupMean::decode(const void* words, void* row, Columns columns, arena::Queue& queue) const {
    arena::decode(options_.codec, x_.type, static_cast<const uint16_t*>(words) + columns.begin,
                  static_cast<char*>(row) + columns.begin * arena::size_of(x_.type),
                  columns.count(), queue);
}

}  // namespace dbench::comm
