#pragma once  // Private to train/passes.
// The buckets of a gradient, and the counter that notices during backward that a bucket is
// complete. executor.hpp describes a bucket's whole way from backward to the algorithm.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::train {

/// Cuts the columns into buckets of whole tensors. A bucket ends with the tensor at which it
/// reaches an eighth of the row, but at least `min_bytes` and at most 25 MiB. A large tensor makes
/// a larger bucket, and the last bucket may be smaller. The order is that in which backward
/// completes them: the last tensors come first.
std::vector<arena::Columns> gradient_buckets(const arena::Layout& layout, arena::DType type,
                                             int64_t min_bytes);

/// Counts which tensors of the last local replica (or of all replicas, in one pass) have their
/// gradient, and reports each bucket, in order, once all its tensors have theirs. The thread that
/// runs backward makes all calls.
class BucketWatch {
public:
    BucketWatch(const arena::Layout& layout, std::vector<arena::Columns> buckets);

    /// Begins a backward pass. For each complete bucket it calls `collect`, if there is one, which
    /// moves the bucket's gradients into the gradient row, and then *ready. `ready` must live until
    /// finish(); null: nothing is reported.
    using Ready = std::function<void(arena::Columns)>;
    void start(const Ready* ready, Ready collect = nullptr);
    /// The hook of tensor `tensor` calls this when the tensor's gradient is complete.
    void complete(int tensor);
    /// Call it after backward: it reports the buckets that are left. A tensor that no gradient has
    /// reached is complete too (its gradient is zero).
    void finish();
    /// Call it after a pass that has failed: no more buckets are reported.
    void stop() { ready_ = nullptr; }

    const std::vector<arena::Columns>& buckets() const { return buckets_; }

private:
    void report_next();

    std::vector<arena::Columns> buckets_;
    std::vector<int> bucket_of_, missing_;
    size_t next_ = 0;
    const Ready* ready_ = nullptr;
    Ready collect_;
};

}  // namespace dbench::train
