#include "data/partitions/partitions.hpp"

namespace dbench::data {

const std::vector<PartitionEntry>& partition_table() {
    static const std::vector<PartitionEntry> table = {
        shuffled_partition(),  contiguous_partition(), iid_partition(),
        dirichlet_partition(), by_label_partition(),
    };
    return table;
}

}  // namespace dbench::data
