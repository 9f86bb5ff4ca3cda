#include "base/random.hpp"
#include "train/data/partitions/partitions.hpp"

namespace dbench::train {
namespace {

class Iid : public Partition {
public:
    Iid(int64_t samples, const DataContext& context)
        : replicas_(context.replicas), seed_(context.seed) {
        base::Random random(seed_, base::Purpose::partition);
        split_ = base::permutation(samples, random);
    }

    int64_t size(int64_t replica) const override { return begin(replica + 1) - begin(replica); }
    std::vector<int64_t> epoch(int64_t replica, int64_t epoch) const override {
        base::Random random(seed_, base::Purpose::shuffle,
                            {static_cast<uint64_t>(epoch), static_cast<uint64_t>(replica)});
        std::vector<int64_t> order = base::permutation(size(replica), random);
        for (int64_t& each : order) each = split_[begin(replica) + each];
        return order;
    }

private:
    int64_t begin(int64_t replica) const {
        return block_begin(replica, replicas_, static_cast<int64_t>(split_.size()));
    }

    int64_t replicas_;
    uint64_t seed_;
    std::vector<int64_t> split_;  // block i of it belongs to replica i throughout
};

}  // namespace

PartitionEntry iid_partition() {
    return {{"iid",
             "a random split made once; each replica draws a new order of its own every epoch",
             {}},
            [](const base::Json&, const Dataset& train, const DataContext& context) {
                return std::unique_ptr<Partition>(std::make_unique<Iid>(train.size(), context));
            }};
}

}  // namespace dbench::train
