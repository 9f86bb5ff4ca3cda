// The route of groups between ranks if messages move independently of each other (MPI, threads): a
// step starts when the step before it has moved.

#include <algorithm>

#include "comm/mixing/spanning_groups.hpp"

namespace dbench::comm {
namespace {

class GroupsByMessage : public SpanningGroups {
public:
    GroupsByMessage(const MixingContext& context, const TravellingRows& rows)
        : SpanningGroups(context, rows, GroupRoute::messages, context.all_reduce) {}

    bool start() override {
        return std::any_of(groups_.begin(), groups_.end(), [&](size_t g) {
            return context_.coded() || context_.plan->groups[g].reduces_first();
        });
    }

    bool advance() override {
        if (step_ == Step::reduce) {
            reduce_and_scatter();
            step_ = Step::scatter;
        }
        if (step_ == Step::scatter && moved()) {
            combine_and_gather();
            step_ = Step::gather;
        }
        if (step_ == Step::gather && moved()) step_ = Step::moved;
        return step_ == Step::moved;
    }

private:
    /// The step that is under way or comes next.
    enum class Step : uint8_t { reduce, scatter, gather, moved };
    Step step_ = Step::reduce;
};

}  // namespace

std::unique_ptr<MixingRoute> groups_by_message(const MixingContext& context,
                                               const TravellingRows& rows) {
    return std::make_unique<GroupsByMessage>(context, rows);
}

}  // namespace dbench::comm
