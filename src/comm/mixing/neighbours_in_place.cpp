// The route of neighbours' rows through shared memory: this rank reads them where their owners
// offer them (TravellingRows::prepare offers this rank's rows). No message moves.

#include "comm/mixing/mixing_route.hpp"

namespace dbench::comm {
namespace {

class NeighboursInPlace : public MixingRoute {
public:
    explicit NeighboursInPlace(const MixingContext& context)
        : context_(context), in_place_(*context.in_place) {}

    bool advance() override { return in_place_.rows_ready(); }
    std::vector<int> awaited_ranks() const override { return in_place_.awaited_ranks(); }

    void locate_rows(std::vector<const char*>& rows) const override {
        const MixingPlan& plan = *context_.plan;
        for (size_t k = 0; k < plan.receive.size(); ++k) {
            if (context_.routes.receive[k] != RowRoute::in_place) continue;
            for (const int64_t index : plan.receive[k].rows) {
                rows[index] = in_place_.row(plan.receive[k].rank, plan.sender_rows[index]) -
                              context_.bytes_before();
            }
        }
    }

private:
    const MixingContext& context_;
    InPlaceExchange& in_place_;
};

}  // namespace

std::unique_ptr<MixingRoute> neighbours_in_place(const MixingContext& context) {
    return std::make_unique<NeighboursInPlace>(context);
}

}  // namespace dbench::comm
