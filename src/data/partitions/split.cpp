#include "data/partitions/split.hpp"

#include <utility>

#include "base/error.hpp"
#include "data/partitions/partitions.hpp"

namespace dbench::data {
namespace {

/// Returns the order of a replica's `size` samples in an epoch.
std::vector<int64_t> drawn_order(uint64_t seed, int64_t epoch, int64_t replica, int64_t size) {
    base::Random random(seed, base::Purpose::shuffle,
                        {static_cast<uint64_t>(epoch), static_cast<uint64_t>(replica)});
    return base::permutation(size, random);
}

class FixedSplit : public Partition {
public:
    FixedSplit(std::vector<int64_t> split, const DataContext& context)
        : replicas_(context.replicas), seed_(context.seed), split_(std::move(split)) {}

    int64_t size(int64_t replica) const override { return begin(replica + 1) - begin(replica); }
    std::vector<int64_t> epoch(int64_t replica, int64_t epoch) const override {
        std::vector<int64_t> order = drawn_order(seed_, epoch, replica, size(replica));
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

class FixedParts : public Partition {
public:
    FixedParts(std::vector<std::vector<int64_t>> parts, const DataContext& context,
               base::InputDigest source)
        : seed_(context.seed), parts_(std::move(parts)), source_(std::move(source)) {}

    int64_t size(int64_t replica) const override { return std::ssize(parts_.at(replica)); }
    std::vector<int64_t> epoch(int64_t replica, int64_t epoch) const override {
        std::vector<int64_t> order = drawn_order(seed_, epoch, replica, size(replica));
        for (int64_t& each : order) each = parts_[replica][each];
        return order;
    }
    std::vector<base::InputDigest> inputs() const override { return {source_}; }

private:
    uint64_t seed_;
    std::vector<std::vector<int64_t>> parts_;
    base::InputDigest source_;
};

}  // namespace

std::unique_ptr<Partition> fixed_split(std::vector<int64_t> split, const DataContext& context) {
    return std::make_unique<FixedSplit>(std::move(split), context);
}

std::unique_ptr<Partition> fixed_parts(std::vector<std::vector<int64_t>> parts,
                                       const DataContext& context, base::InputDigest source) {
    return std::make_unique<FixedParts>(std::move(parts), context, std::move(source));
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
