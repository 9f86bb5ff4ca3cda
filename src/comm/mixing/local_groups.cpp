// The route of groups whose members are all on this rank: the finish call computes their means from
// rows of x. Nothing moves.

#include "comm/groups/group_mean.hpp"
#include "comm/mixing/mixing_route.hpp"

namespace dbench::comm {
namespace {

class LocalGroups : public MixingRoute {
public:
    explicit LocalGroups(const MixingContext& context)
        : context_(context), groups_(context.groups_by(GroupRoute::local)) {}

    void write_means(arena::Rows out, arena::Columns columns) const override {
        for (const size_t g : groups_) {
            const GroupPlan& group = context_.plan->groups[g];
            mean_of_rows(group, context_.local_rows(group), columns, out, context_.codec,
                         context_.place.compute(), *context_.pool);
        }
    }

    void locate_coded_means(std::vector<CodedGroup>& means) const override {
        for (const size_t g : groups_) {
            for (const void* row : context_.local_rows(context_.plan->groups[g])) {
                means[g].rows.push_back({nullptr, row});
            }
        }
    }

    bool set_terms_of_means(RowTerms& terms) const override {
        for (const size_t g : groups_) {
            const GroupPlan& group = context_.plan->groups[g];
            if (!set_terms_of_pair(group, context_.local_rows(group), terms)) return false;
        }
        return true;
    }

private:
    const MixingContext& context_;
    const std::vector<size_t> groups_;
};

}  // namespace

std::unique_ptr<MixingRoute> local_groups(const MixingContext& context) {
    return std::make_unique<LocalGroups>(context);
}

}  // namespace dbench::comm
