#pragma once
// Buckets of a gradient, which leave as soon as backward has completed them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::train {

/// Ranges of whole tensors in the order in which backward completes them (last tensors first):
/// about eight, of at least `least_bytes` and at most 25 MiB.
std::vector<arena::Columns> gradient_buckets(const arena::Layout& layout, arena::DType type,
                                             int64_t least_bytes);

/// Watches the last local replica's tensors during backward and announces buckets in order.
class BucketWatch {
public:
    BucketWatch(const arena::Layout& layout, std::vector<arena::Columns> buckets);

    /// Begins a backward pass whose buckets are announced to `ready`, which lives until `finish`,
    /// each after `collect`, if there is one.
    using Ready = std::function<void(arena::Columns)>;
    void start(const Ready* ready, Ready collect = nullptr);
    /// The gradient of a tensor is complete.
    void complete(int tensor);
    /// After backward: whatever no gradient reached is complete too (its gradient is zero).
    void finish();
    /// Announces nothing more of a pass that has failed.
    void stop() { ready_ = nullptr; }

    const std::vector<arena::Columns>& buckets() const { return buckets_; }

private:
    void announce_next();

    std::vector<arena::Columns> buckets_;
    std::vector<int> bucket_of_, missing_;
    size_t next_ = 0;
    const Ready* ready_ = nullptr;
    Ready collect_;
};

}  // namespace dbench::train
