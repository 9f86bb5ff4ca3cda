#include "data/partitions/split.hpp"

#include <utility>

#include "base/error.hpp"
#include "data/partitions/partitions.hpp"

namespace dbench::data {
namespace {

class FixedSplit : public Partition {
public:
    FixedSplit(std::vector<int64_t> split, const DataContext& context)
        : replicas_(context.replicas), seed_(context.seed), split_(std::move(split)) {}

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
    std::vector<int64_t> split_;
};

}  // namespace

std::unique_ptr<Partition> fixed_split(std::vector<int64_t> split, const DataContext& context) {
    return std::make_unique<FixedSplit>(std::move(split), context);
}

std::vector<std::vector<int64_t>> grouped_by_label(const Dataset& train,
                                                   const std::vector<int64_t>& samples) {
    std::vector<std::vector<int64_t>> groups(static_cast<size_t>(train.classes()));
    for (const int64_t sample : samples) groups[train.label(sample)].push_back(sample);
    return groups;
}

void require_labels(const Dataset& train, const std::string& name) {
    if (has_sample_labels(train)) return;
    throw base::UserError("/data/partition: " + name + " assigns samples by their labels (" +
                          (train.classes() > 0
                               ? "in this data set, each position of a sample has one"
                               : "this data set has real targets") +
                          "): use shuffled, contiguous or iid");
}

base::Random split_random(uint64_t seed, base::PartitionStream stream, uint64_t word) {
    return base::random_stream(seed, stream, word);
}

}  // namespace dbench::data
