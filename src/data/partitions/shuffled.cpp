// The partition shuffled.

#include <memory>
#include <mutex>

#include "base/random.hpp"
#include "data/partitions/partitions.hpp"

namespace dbench::data {
namespace {

class Shuffled : public Partition {
public:
    Shuffled(int64_t samples, const DataContext& context)
        : samples_(samples), replicas_(context.replicas), seed_(context.seed) {}

    int64_t size(int64_t replica) const override {
        return (samples_ - replica + replicas_ - 1) / replicas_;
    }
    std::vector<int64_t> epoch(int64_t replica, int64_t epoch) const override {
        const auto order = permutation_of(epoch);
        std::vector<int64_t> mine;
        mine.reserve(static_cast<size_t>(size(replica)));
        for (int64_t p = replica; p < samples_; p += replicas_) mine.push_back((*order)[p]);
        return mine;
    }

private:
    using Order = std::shared_ptr<const std::vector<int64_t>>;

    // The replicas of a rank request the same epoch one after the other, so its permutation is
    // cached.
    Order permutation_of(int64_t epoch) const {
        const std::lock_guard lock(mutex_);
        if (!last_ || last_epoch_ != epoch) {
            base::Random random(seed_, base::Purpose::shuffle, {static_cast<uint64_t>(epoch)});
            last_ =
                std::make_shared<const std::vector<int64_t>>(base::permutation(samples_, random));
            last_epoch_ = epoch;
        }
        return last_;
    }

    int64_t samples_, replicas_;
    uint64_t seed_;
    mutable std::mutex mutex_;
    mutable Order last_;
    mutable int64_t last_epoch_ = 0;
};

std::unique_ptr<Partition> make_shuffled(const base::NoKeys&, const Dataset& train,
                                         const DataContext& context) {
    return std::make_unique<Shuffled>(train.size(), context);
}

}  // namespace

PartitionEntry shuffled_partition() {
    return {"shuffled",
            "one permutation of the training set per epoch; replica i uses positions i, i+n, ...",
            make_shuffled};
}

}  // namespace dbench::data
