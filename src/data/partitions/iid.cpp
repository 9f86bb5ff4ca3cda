// The partition iid.

#include "base/random.hpp"
#include "data/partitions/partitions.hpp"
#include "data/partitions/split.hpp"

namespace dbench::data {

namespace {

std::unique_ptr<Partition> make_iid(const base::NoKeys&, const Dataset& train,
                                    const DataContext& context) {
    base::Random random(context.seed, base::Purpose::partition);
    return fixed_split(base::permutation(train.size(), random), context);
}

}  // namespace

PartitionEntry iid_partition() {
    return {"iid", "a random split that stays the same; each replica draws a new order every epoch",
            make_iid};
}

}  // namespace dbench::data
