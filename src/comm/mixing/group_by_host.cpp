// The route of the group of all replicas if every host has several ranks that share memory. Each
// host has the same number q of owners, and an owner computes one of q chunks of the columns:
//   1. It adds this chunk of the rows of its host, which it reads in place.
//   2. It averages the result with the owners of the same chunk on the other hosts, by message
//      (groups/group_mean.hpp). A host therefore sends 2 (h - 1) / h rows to the h - 1 others,
//      however many ranks it has.
//   3. The other ranks of the host copy the chunk from shared memory.
// The mean of a host and the mean over hosts each follow a fixed tree, so a rerun on the same hosts
// has the same bits.

#include "comm/mixing/group_by_host.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "arena/kernels.hpp"
#include "arena/tree.hpp"
#include "comm/mixing/mixing_route.hpp"

namespace dbench::comm {

HostShare host_share(const GroupPlan& group, const RanksByHost& hosts) {
    HostShare share{};
    share.count = std::ssize(hosts[0]);
    const int rank = group.parts[group.me].rank;
    const auto part_of = [&](int other) {
        return *std::find_if(group.parts.begin(), group.parts.end(),
                             [&](const GroupPlan::Part& part) { return part.rank == other; });
    };
    for (size_t h = 0; h < hosts.size(); ++h) {
        share.count = std::min<int64_t>(share.count, std::ssize(hosts[h]));
        const auto at = std::find(hosts[h].begin(), hosts[h].end(), rank);
        if (at == hosts[h].end()) continue;
        share.host.me = static_cast<int>(at - hosts[h].begin());
        share.owners.me = static_cast<int>(h);
        for (const int each : hosts[h]) {
            share.host.parts.push_back(part_of(each));
            share.host.members += std::ssize(share.host.parts.back().rows);
        }
    }
    share.owns = share.host.me < share.count;
    share.weight = static_cast<double>(share.host.members * std::ssize(hosts)) /
                   static_cast<double>(group.members);
    if (!share.owns) return share;
    share.owners.members = std::ssize(hosts);
    share.owners.rows = {0};
    for (int64_t h = 0; h < std::ssize(hosts); ++h) {
        share.owners.parts.push_back({hosts[h][share.host.me], {h, h + 1}, {{h, h + 1}}, {0}});
    }
    return share;
}

namespace {

class GroupByHost : public MixingRoute {
public:
    explicit GroupByHost(const MixingContext& context)
        : context_(context),
          in_place_(*context.in_place),
          group_(context.plan->groups[context.groups_by(GroupRoute::by_host)[0]]),
          share_(host_share(group_, *context.routes.hosts)),
          mine_(share_.mine(context.columns)) {}

    /// Finds memory for this rank's chunk.
    bool start() override {
        if (!share_.owns) return false;
        if (context_.all_reduce) {  // no other rank reads this chunk of the travelling row
            memory_ = in_place_.row(group_.parts[group_.me].rank, group_.rows[0]);
        } else {
            memory_ = in_place_.take(context_.columns.count() * size());
        }
        return false;
    }

    bool moves() const override { return true; }

    bool advance() override {
        if (step_ == Step::add && in_place_.rows_ready()) {
            if (mine_.count() == 0) {
                offer();
            } else {
                add_rows_of_host();
                start_messages(&GroupMean::list_scatter, Step::scatter);
            }
        }
        if (step_ == Step::scatter && transfer_->test()) {
            mean_->combine();
            start_messages(&GroupMean::list_gather, Step::gather);
        }
        if (step_ == Step::gather && transfer_->test()) offer();
        return step_ == Step::copy && owners_without_chunk().empty();
    }

    std::vector<int> awaited_ranks() const override {
        if (step_ == Step::add) return in_place_.awaited_ranks();
        return step_ == Step::copy ? owners_without_chunk() : transfer_->awaited_ranks();
    }

    void write_means(arena::Rows out, arena::Columns columns) const override {
        for (int64_t owner = 0; owner < share_.count; ++owner) {
            const arena::Columns chunk = share_.chunk(context_.columns, owner);
            const int64_t begin = std::max(chunk.begin, columns.begin);
            const int64_t count = std::min(chunk.end, columns.end) - begin;
            if (count <= 0) continue;
            const char* const from = in_place_.mean(share_.host.parts[owner].rank, 0) +
                                     (begin - context_.columns.begin) * size();
            for (const int64_t row : group_.rows) {
                char* const to = out.at(row, begin);
                if (to != from) std::memcpy(to, from, static_cast<size_t>(count * size()));
            }
        }
    }

    bool set_terms_of_means(RowTerms&) const override { return false; }

    void release() override { mean_.reset(); }

private:
    /// The step that is under way or comes next.
    enum class Step : uint8_t { add, scatter, gather, copy };

    int64_t size() const { return arena::size_of(context_.x.type); }

    /// Computes this host's summand of the mean over hosts, in this rank's chunk.
    void add_rows_of_host() {
        const arena::DType type = context_.x.type;
        std::vector<arena::Summand> leaves;
        for (const void* row : in_place_.rows_of(share_.host, context_.bytes_before())) {
            const int64_t p = std::ssize(leaves);
            leaves.push_back({{p, p + 1}, row});
        }
        const arena::Rows sum{
            memory_ - context_.bytes_before(), type, arena::Space::host, 0, 1, context_.x.stride};
        arena::tree_mean(type, share_.host.members, leaves, sum.data, mine_);
        if (share_.weight != 1) arena::scale(sum, mine_, share_.weight);
        mean_.emplace(
            share_.owners, sum, mine_, *context_.pool,
            GroupMean::Options{true, arena::ElementCodec::identity, false, context_.queue()});
        mean_->reduce();
    }

    void start_messages(void (GroupMean::*list)(int, std::vector<Message>&, std::vector<Message>&),
                        Step step) {
        std::vector<Message> out, in;
        (*mean_.*list)(context_.tag, out, in);
        transfer_ = context_.start(out, in);
        step_ = step;
    }

    /// Shows this rank's chunk to the other ranks of the host.
    void offer() {
        if (share_.owns) in_place_.offer_means({memory_, 0});
        step_ = Step::copy;
    }

    std::vector<int> owners_without_chunk() const {
        std::vector<int> ranks;
        for (int64_t owner = 0; owner < share_.count; ++owner) {
            const int rank = share_.host.parts[owner].rank;
            if (!in_place_.mean_ready(rank)) ranks.push_back(rank);
        }
        return ranks;
    }

    const MixingContext& context_;
    InPlaceExchange& in_place_;
    const GroupPlan& group_;
    const HostShare share_;
    const arena::Columns mine_;
    char* memory_ = nullptr;  // the chunk: address of the first of the exchange's columns
    std::optional<GroupMean> mean_;
    std::unique_ptr<Transfer> transfer_;
    Step step_ = Step::add;
};

}  // namespace

std::unique_ptr<MixingRoute> group_by_host(const MixingContext& context) {
    return std::make_unique<GroupByHost>(context);
}

}  // namespace dbench::comm
