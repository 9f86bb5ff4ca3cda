// The route of small groups of this host: every rank reads all rows of the group in place and
// computes the whole mean in the finish call. No message moves.

#include "comm/groups/group_mean.hpp"
#include "comm/mixing/mixing_route.hpp"

namespace dbench::comm {
namespace {

class GroupsReadWhole : public MixingRoute {
public:
    explicit GroupsReadWhole(const MixingContext& context)
        : context_(context),
          in_place_(*context.in_place),
          groups_(context.groups_by(GroupRoute::read_whole)) {}

    bool advance() override { return in_place_.rows_ready(); }
    std::vector<int> awaited_ranks() const override { return in_place_.awaited_ranks(); }

    void write_means(arena::Rows out, arena::Columns columns) const override {
        for (const size_t g : groups_) {
            const GroupPlan& group = context_.plan->groups[g];
            mean_of_rows(group, rows_of(group), columns, out, context_.codec, arena::host_queue(),
                         *context_.pool);
        }
    }

    void locate_coded_means(std::vector<CodedGroup>& means) const override {
        for (const size_t g : groups_) {
            for (const void* row : rows_of(context_.plan->groups[g])) {
                means[g].rows.push_back({static_cast<const uint16_t*>(row), nullptr});
            }
        }
    }

    bool set_terms_of_means(RowTerms& terms) const override {
        for (const size_t g : groups_) {
            const GroupPlan& group = context_.plan->groups[g];
            if (!set_terms_of_pair(group, rows_of(group), terms)) return false;
        }
        return true;
    }

private:
    /// Returns the group's rows by position, as they travel; addresses of column 0.
    std::vector<const void*> rows_of(const GroupPlan& group) const {
        return in_place_.rows_of(group, context_.bytes_before());
    }

    const MixingContext& context_;
    InPlaceExchange& in_place_;
    const std::vector<size_t> groups_;
};

}  // namespace

std::unique_ptr<MixingRoute> groups_read_whole(const MixingContext& context) {
    return std::make_unique<GroupsReadWhole>(context);
}

}  // namespace dbench::comm
