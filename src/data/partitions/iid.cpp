// The partition iid.

#include "base/random.hpp"
#include "data/partitions/partitions.hpp"
#include "data/partitions/split.hpp"

namespace dbench::data {

PartitionEntry iid_partition() {
    return {{"iid",
             "a random split that stays the same; each replica draws a new order every epoch",
             {}},
            [](const base::Json&, const Dataset& train, const DataContext& context) {
                base::Random random(context.seed, base::Purpose::partition);
                return fixed_split(base::permutation(train.size(), random), context);
            }};
}

}  // namespace dbench::data
