// The table of partitions.

#include "data/partitions/partitions.hpp"

namespace dbench::data {

// The partitions in the order of the documentation. The row of each, NAME_partition(), is defined
// in the file of the partition.
#define DBENCH_PARTITIONS(ROW) \
    ROW(shuffled)              \
    ROW(contiguous) ROW(stream) ROW(iid) ROW(dirichlet) ROW(class_dirichlet) ROW(by_label) ROW(file)

#define ROW_DECLARED(name) PartitionEntry name##_partition();
#define ROW_MADE(name) name##_partition(),
DBENCH_PARTITIONS(ROW_DECLARED)

const std::vector<PartitionEntry>& partition_table() {
    static const std::vector<PartitionEntry> table = {DBENCH_PARTITIONS(ROW_MADE)};
    return table;
}

}  // namespace dbench::data
