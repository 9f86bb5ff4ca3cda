#pragma once  // Private to comm/mixing.
// The part that the routes of groups between ranks have in common: the messages in flight, and the
// use of means that have arrived. The steps of the means are those of groups/group_mean.hpp.

#include <memory>
#include <vector>

#include "comm/groups/group_mean.hpp"
#include "comm/mixing/mixing_route.hpp"

namespace dbench::comm {

/// Groups that span ranks and are averaged by the transport. Subclasses start the steps.
class SpanningGroups : public MixingRoute {
public:
    bool moves() const override { return true; }
    std::vector<int> awaited_ranks() const override;

    void finish_means() override;
    void write_means(arena::Rows out, arena::Columns columns) const override;
    void locate_coded_means(std::vector<CodedGroup>& means) const override;
    bool set_terms_of_means(RowTerms& terms) const override;
    void release() override;

protected:
    /// `mean_into_x`: the means are computed in the travelling rows, and else in scratch memory.
    SpanningGroups(const MixingContext& context, const TravellingRows& rows, GroupRoute route,
                   bool mean_into_x);

    /// Computes the subtrees of all groups, and starts the messages with them.
    void reduce_and_scatter();
    /// Computes this rank's chunks of all means, and starts the messages with them.
    void combine_and_gather();
    /// True if the steps that have been started have moved.
    bool moved() const;

    const MixingContext& context_;
    const std::vector<size_t> groups_;
    std::vector<GroupMean> means_;  // by position in groups_; empty after `release`
    std::vector<std::unique_ptr<Transfer>> steps_;

private:
    /// Starts the messages that `list` lists for each group.
    void start_step(void (GroupMean::*list)(int, std::vector<Message>&, std::vector<Message>&));
};

}  // namespace dbench::comm
