// Parts of the file order: `contiguous`, and `stream` for texts. Under `stream` a batch of B
// samples has one from each of B columns, equal parts of the replica's own, and the next batch
// those that follow them: where a replica stands in its text is known from the iteration alone.

#include <numeric>

#include "data/partitions/partitions.hpp"

namespace dbench::data {
namespace {

class Contiguous : public Partition {
public:
    Contiguous(int64_t samples, int64_t replicas, bool stream)
        : samples_(samples), replicas_(replicas), stream_(stream) {}

    bool stream() const override { return stream_; }
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
    bool stream_;
};

template <bool stream>
std::unique_ptr<Partition> make(const base::Json&, const Dataset& train,
                                const DataContext& context) {
    return std::make_unique<Contiguous>(train.size(), context.replicas, stream);
}

}  // namespace

int64_t block_begin(int64_t replica, int64_t replicas, int64_t items) {
    return replica * items / replicas;
}

PartitionEntry contiguous_partition() {
    return {{"contiguous",
             "replica i owns samples floor(iN/n) .. floor((i+1)N/n)-1 of the file order, in it",
             {}},
            make<false>};
}

PartitionEntry stream_partition() {
    return {{"stream",
             "contiguous, each part cut into batch_size columns: iteration k of an epoch takes the "
             "k-th sample of every column, so that texts go on from batch to batch",
             {}},
            make<true>};
}

}  // namespace dbench::data
