// The partitions contiguous and stream: consecutive parts of the file order. With stream, the part
// of a replica is divided into B equal columns for batches of B samples. A batch takes one sample
// from each column, and the next batch takes the samples that follow them, so the position of a
// replica in its text is a function of the iteration.

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
std::unique_ptr<Partition> make_contiguous(const base::NoKeys&, const Dataset& train,
                                           const DataContext& context) {
    return std::make_unique<Contiguous>(train.size(), context.replicas, stream);
}

}  // namespace

int64_t block_begin(int64_t replica, int64_t replicas, int64_t items) {
    return replica * items / replicas;
}

PartitionEntry contiguous_partition() {
    return {
        "contiguous",
        "replica i owns samples floor(iN/n) .. floor((i+1)N/n)-1 of the file order, in that order",
        make_contiguous<false>};
}

PartitionEntry stream_partition() {
    return {"stream",
            "like contiguous, with each part divided into batch_size columns: iteration k of an "
            "epoch takes the k-th sample of every column, so that texts continue from batch to "
            "batch",
            make_contiguous<true>};
}

}  // namespace dbench::data
