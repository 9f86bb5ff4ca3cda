// Begins and advances one exchange; mixing_operation_finish.cpp finishes it.

#include "comm/mixing/mixing_operation.hpp"

#include <algorithm>
#include <utility>

#include "comm/mixing/mixing_route.hpp"
#include "comm/mixing/travelling_rows.hpp"

namespace dbench::comm {

MixingOperation::MixingOperation(MixingContext context)
    : context_(std::move(context)),
      travelling_(std::make_unique<TravellingRows>(context_)),
      routes_(make_routes(context_, *travelling_)) {}

MixingOperation::~MixingOperation() = default;

bool MixingOperation::begin() {
    arena::Queue& queue = context_.queue();
    if (!context_.plan->local()) {
        arena::order(context_.place.compute(), queue, "rows that are exchanged");
    }
    travelling_->prepare();
    bool arithmetic_remains = false;
    for (const auto& route : routes_) arithmetic_remains |= route->start();
    if (ordered()) moved_ = queue.record();
    return arithmetic_remains;
}

bool MixingOperation::moves() const {
    return std::any_of(routes_.begin(), routes_.end(),
                       [](const auto& route) { return route->moves(); });
}

bool MixingOperation::advance() {
    bool done = true;
    for (const auto& route : routes_) done &= route->advance();
    return done;
}

std::vector<int> MixingOperation::awaited_ranks() const {
    std::vector<int> ranks;
    for (const auto& route : routes_) {
        const std::vector<int> more = route->awaited_ranks();
        ranks.insert(ranks.end(), more.begin(), more.end());
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

}  // namespace dbench::comm
