// The route of the group of all replicas if the spec asks for the library's sum (MPI_Iallreduce,
// ncclAllReduce): each rank adds its own rows, the library adds those sums in an order of its own,
// and each rank divides by the number of replicas.

#include <memory>
#include <vector>

#include "arena/tree.hpp"
#include "comm/mixing/spanning_groups.hpp"
#include "comm/mixing/travelling_rows.hpp"

namespace dbench::comm {
namespace {

class GroupByLibrary : public SpanningGroups {
public:
    GroupByLibrary(const MixingContext& context, const TravellingRows& rows)
        : SpanningGroups(context, rows, GroupRoute::library, false), rows_(rows.rows()) {}

    /// The sum starts at once, because all ranks start their sums in the order of the exchanges.
    bool start() override {
        RowTransport& transport = context_.transport;
        const arena::Columns columns = context_.columns;
        const void* const from = add_local_rows();
        char* const to = sum() + columns.begin * arena::size_of(rows_.type);
        if (!transport.queue()) arena::finish(context_.queue(), "rows that the library sums");
        steps_.push_back(transport.start_sum(rows_.type, from, to, columns.count()));
        if (transport.queue()) {
            scale_sum();
            steps_.push_back(transport.start({}, {}));  // done once the sum has been scaled
        }
        return false;
    }

    bool advance() override {
        if (done_ || !moved()) return done_;
        if (!context_.transport.queue()) {
            scale_sum();
            arena::finish(context_.queue(), "the sum by the library");
        }
        return done_ = true;
    }

    void release() override {
        arena::keep(context_.place.compute(), std::move(local_sum_));
        local_sum_.reset();
        SpanningGroups::release();
    }

private:
    char* sum() const { return static_cast<char*>(means_[0].result()); }

    /// Adds this rank's rows along a tree of their own. Returns the sum, the address of the first
    /// of the exchange's columns.
    const void* add_local_rows() {
        const arena::Columns columns = context_.columns;
        if (rows_.count == 1) return rows_.at(0, columns.begin);
        std::vector<arena::Summand> leaves;
        for (int64_t i = 0; i < rows_.count; ++i) leaves.push_back({{i, i + 1}, rows_.at(i, 0)});
        const int64_t size = arena::size_of(rows_.type);
        local_sum_ = context_.pool->take(columns.count() * size);
        arena::tree_sum(rows_.type, rows_.count, leaves, local_sum_.get() - columns.begin * size,
                        columns, context_.queue());
        return local_sum_.get();
    }

    /// Turns the library's sum into the mean.
    void scale_sum() {
        const arena::Rows sum_row{sum(), rows_.type, rows_.space, 0, 1, rows_.stride};
        const auto members = static_cast<double>(context_.plan->groups[0].members);
        arena::scale(sum_row, context_.columns, 1.0 / members, context_.queue());
    }

    const arena::Rows rows_;
    std::shared_ptr<char> local_sum_;  // [columns.count()]: this rank's contribution
    bool done_ = false;
};

}  // namespace

std::unique_ptr<MixingRoute> group_by_library(const MixingContext& context,
                                              const TravellingRows& rows) {
    return std::make_unique<GroupByLibrary>(context, rows);
}

}  // namespace dbench::comm
