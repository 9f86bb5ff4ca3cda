// The route of large groups of this host, and of all-reduces: each of the q ranks that hold members
// computes one of q chunks of the columns from rows that it reads in place, and the others copy the
// chunk from shared memory. The bits are those of groups/group_mean.hpp.

#include <algorithm>
#include <cstring>

#include "arena/tree.hpp"
#include "comm/groups/coded_mean.hpp"
#include "comm/groups/group_mean.hpp"
#include "comm/mixing/mixing_route.hpp"

namespace dbench::comm {
namespace {

class GroupsInChunks : public MixingRoute {
public:
    explicit GroupsInChunks(const MixingContext& context)
        : context_(context),
          in_place_(*context.in_place),
          groups_(context.groups_by(GroupRoute::in_chunks)) {}

    /// Finds memory for this rank's chunks.
    bool start() override {
        const std::vector<GroupPlan>& groups = context_.plan->groups;
        if (context_.all_reduce) {  // no other rank reads this chunk of the travelling row
            const GroupPlan& all = groups[0];
            chunks_ = {in_place_.row(all.parts[all.me].rank, all.rows[0]), 0};
            return false;
        }
        // GroupPlan::Part::index numbers all groups that span ranks.
        const auto spanning =
            std::count_if(groups.begin(), groups.end(), [](const auto& g) { return !g.local(); });
        const int64_t row = context_.columns.count() * size();
        chunks_ = {in_place_.take(spanning * row), row};
        return false;
    }

    bool moves() const override { return true; }

    /// Computes this rank's chunks as soon as the rows are ready, and then waits for the others'.
    bool advance() override {
        if (!in_place_.rows_ready()) return false;
        if (!computed_) {
            for (const size_t g : groups_) compute_chunk(context_.plan->groups[g]);
            in_place_.offer_means(chunks_);
            computed_ = true;
        }
        return ranks_without_chunk().empty();
    }

    std::vector<int> awaited_ranks() const override {
        return computed_ ? ranks_without_chunk() : in_place_.awaited_ranks();
    }

    void write_means(arena::Rows out, arena::Columns columns) const override {
        for (const size_t g : groups_) {
            for (const int64_t row : context_.plan->groups[g].rows) {
                copy_mean(context_.plan->groups[g], out.at(row, columns.begin), columns);
            }
        }
    }

    void locate_coded_means(std::vector<CodedGroup>& means) const override {
        for (const size_t g : groups_) {
            means[g].write_mean = [this, g](char* to, arena::Columns columns) {
                copy_mean(context_.plan->groups[g], to, columns);
            };
        }
    }

    bool set_terms_of_means(RowTerms&) const override { return false; }

private:
    int64_t size() const { return arena::size_of(context_.x.type); }

    /// Computes this rank's chunk from all rows of the group, and stores it in the group's row of
    /// `chunks_`. If means are encoded, x receives the decoded chunk, too.
    void compute_chunk(const GroupPlan& group) {
        const arena::Columns columns = context_.columns;
        const arena::Columns mine = cut(columns, std::ssize(group.parts), group.me);
        if (mine.count() == 0) return;
        const arena::DType type = context_.x.type;
        const std::vector<const void*> rows = in_place_.rows_of(group, context_.bytes_before());
        char* const chunk = chunks_.at(group.parts[group.me].index);
        char* const mean = context_.means_coded() ? context_.x.at(group.rows[0], 0)
                                                  : chunk - columns.begin * size();
        if (!context_.coded()) {
            std::vector<arena::Summand> leaves;
            for (const void* row : rows) {
                const int64_t p = std::ssize(leaves);
                leaves.push_back({{p, p + 1}, row});
            }
            arena::tree_mean(type, group.members, leaves, mean, mine);
            return;
        }
        std::vector<CodedRow> leaves;
        for (const void* row : rows) leaves.push_back({static_cast<const uint16_t*>(row), nullptr});
        coded_tree_mean(context_.codec, type, leaves, mean, mine, arena::host_queue(), nullptr);
        if (!context_.means_coded()) return;
        char* const words = chunk + (mine.begin - columns.begin) * context_.travelling_size();
        arena::encode(context_.codec, type, mean + mine.begin * size(),
                      reinterpret_cast<uint16_t*>(words), mine.count());
    }

    /// Returns the ranks whose chunks are not ready.
    std::vector<int> ranks_without_chunk() const {
        std::vector<int> ranks;
        for (const size_t g : groups_) {
            for (const GroupPlan::Part& part : context_.plan->groups[g].parts) {
                if (!in_place_.mean_ready(part.rank)) ranks.push_back(part.rank);
            }
        }
        return ranks;
    }

    /// Copies the mean, decoded, to one row; `row` is the address of the first of `columns`.
    void copy_mean(const GroupPlan& group, char* row, arena::Columns columns) const {
        const int64_t parts = std::ssize(group.parts);
        const int64_t stored = context_.means_coded() ? context_.travelling_size() : size();
        for (int64_t part = 0; part < parts; ++part) {
            const arena::Columns chunk = cut(context_.columns, parts, part);
            const int64_t begin = std::max(chunk.begin, columns.begin);
            const int64_t count = std::min(chunk.end, columns.end) - begin;
            if (count <= 0) continue;
            const GroupPlan::Part& owner = group.parts[part];
            const char* const from =
                in_place_.mean(owner.rank, owner.index) + (begin - context_.columns.begin) * stored;
            char* const to = row + (begin - columns.begin) * size();
            if (context_.means_coded()) {
                arena::decode(context_.codec, context_.x.type,
                              reinterpret_cast<const uint16_t*>(from), to, count);
            } else if (to != from) {
                std::memcpy(to, from, static_cast<size_t>(count * size()));
            }
        }
    }

    const MixingContext& context_;
    InPlaceExchange& in_place_;
    const std::vector<size_t> groups_;
    SharedRows chunks_;      // memory for this rank's chunks
    bool computed_ = false;  // true if they have been computed
};

}  // namespace

std::unique_ptr<MixingRoute> groups_in_chunks(const MixingContext& context) {
    return std::make_unique<GroupsInChunks>(context);
}

}  // namespace dbench::comm
