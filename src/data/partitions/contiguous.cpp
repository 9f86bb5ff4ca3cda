#include <numeric>

#include "data/partitions/partitions.hpp"

namespace dbench::data {
namespace {

class Contiguous : public Partition {
public:
    Contiguous(int64_t samples, int64_t replicas) : samples_(samples), replicas_(replicas) {}

    int64_t size(int64_t replica) const override {
        return block_begin(replica + 1, replicas_, samples_) -
               block_begin(replica, replicas_, samples_);
    }
    std::vector<int64_t> epoch(int64_t replica, int64_t) const override {
        std::vector<int64_t> order(static_cast<size_t>(size(replica)));
        std::iota(order.begin(), order.end(), block_begin(replica, replicas_, samples_));
        return order;
    }

private:
    int64_t samples_, replicas_;
};

}  // namespace

int64_t block_begin(int64_t replica, int64_t replicas, int64_t items) {
    return replica * items / replicas;
}

PartitionEntry contiguous_partition() {
    return {{"contiguous",
             "replica i owns samples floor(iN/n) .. floor((i+1)N/n)-1 of the file order, in it",
             {}},
            [](const base::Json&, const Dataset& train, const DataContext& context) {
                return std::unique_ptr<Partition>(
                    std::make_unique<Contiguous>(train.size(), context.replicas));
            }};
}

}  // namespace dbench::data
