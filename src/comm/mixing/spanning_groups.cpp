#include "comm/mixing/spanning_groups.hpp"

#include <algorithm>
#include <utility>

#include "comm/mixing/travelling_rows.hpp"

namespace dbench::comm {

SpanningGroups::SpanningGroups(const MixingContext& context, const TravellingRows& rows,
                               GroupRoute route, bool mean_into_x)
    : context_(context), groups_(context.groups_by(route)) {
    for (const size_t g : groups_) {
        means_.emplace_back(
            context.plan->groups[g], rows.rows(), context.columns, *context.pool,
            GroupMean::Options{mean_into_x, context.codec, context.means_coded(), context.queue()});
    }
}

void SpanningGroups::reduce_and_scatter() {
    for (GroupMean& mean : means_) mean.reduce();
    start_step(&GroupMean::list_scatter);
}

void SpanningGroups::combine_and_gather() {
    for (GroupMean& mean : means_) mean.combine();
    start_step(&GroupMean::list_gather);
}

void SpanningGroups::start_step(void (GroupMean::*list)(int, std::vector<Message>&,
                                                        std::vector<Message>&)) {
    std::vector<Message> out, in;
    for (GroupMean& mean : means_) (mean.*list)(context_.tag, out, in);
    steps_.push_back(context_.start(out, in));
}

bool SpanningGroups::moved() const {
    return std::all_of(steps_.begin(), steps_.end(), [](const auto& step) { return step->test(); });
}

std::vector<int> SpanningGroups::awaited_ranks() const {
    std::vector<int> ranks;
    for (const auto& step : steps_) {
        const std::vector<int> more = step->awaited_ranks();
        ranks.insert(ranks.end(), more.begin(), more.end());
    }
    return ranks;
}

void SpanningGroups::finish_means() {
    for (GroupMean& mean : means_) mean.decode_result(context_.place.compute());
}

void SpanningGroups::write_means(arena::Rows out, arena::Columns columns) const {
    for (const GroupMean& mean : means_) mean.copy_to(out, columns, context_.place.compute());
}

void SpanningGroups::locate_coded_means(std::vector<CodedGroup>& means) const {
    for (size_t k = 0; k < groups_.size(); ++k) {
        means[groups_[k]].computed = static_cast<const char*>(means_[k].result());
    }
}

bool SpanningGroups::set_terms_of_means(RowTerms& terms) const {
    for (size_t k = 0; k < groups_.size(); ++k) {
        for (const int64_t row : context_.plan->groups[groups_[k]].rows) {
            terms[row] = {{means_[k].result(), 1.0}};
        }
    }
    return true;
}

void SpanningGroups::release() {
    arena::keep(context_.place.compute(),
                std::make_shared<std::vector<GroupMean>>(std::move(means_)));
    means_.clear();
}

}  // namespace dbench::comm
