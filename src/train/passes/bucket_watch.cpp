#include "train/passes/bucket_watch.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dbench::train {
namespace {

constexpr int64_t kMaxBucketBytes = 25 << 20, kBuckets = 8;

}  // namespace

std::vector<arena::Columns> gradient_buckets(const arena::Layout& layout, arena::DType type,
                                             int64_t min_bytes) {
    const int64_t element = arena::size_of(type);
    const int64_t wanted =
        std::clamp(layout.columns() * element / kBuckets, min_bytes, kMaxBucketBytes) / element;
    std::vector<arena::Columns> buckets;
    int64_t end = layout.columns();
    const auto& tensors = layout.tensors();
    for (size_t k = tensors.size(); k-- > 0;) {
        if (end - tensors[k].offset >= wanted || k == 0) {
            buckets.push_back({tensors[k].offset, end});
            end = tensors[k].offset;
        }
    }
    return buckets;
}

BucketWatch::BucketWatch(const arena::Layout& layout, std::vector<arena::Columns> buckets)
    : buckets_(std::move(buckets)), missing_(buckets_.size()) {
    for (const auto& tensor : layout.tensors()) {
        const auto holds = [&](const arena::Columns& c) {
            return tensor.offset >= c.begin && tensor.offset < c.end;
        };
        const auto at = std::find_if(buckets_.begin(), buckets_.end(), holds);
        bucket_of_.push_back(static_cast<int>(at - buckets_.begin()));
    }
}

void BucketWatch::start(const Ready* ready, Ready collect) {
    ready_ = ready;
    collect_ = std::move(collect);
    next_ = 0;
    std::fill(missing_.begin(), missing_.end(), 0);
    for (const int bucket : bucket_of_) ++missing_[bucket];
}

void BucketWatch::complete(int tensor) {
    if (!ready_) return;
    --missing_[bucket_of_[tensor]];
    while (next_ < buckets_.size() && missing_[next_] <= 0) report_next();
}

void BucketWatch::report_next() {
    const arena::Columns bucket = buckets_[next_++];
    if (collect_) collect_(bucket);
    (*ready_)(bucket);
}

void BucketWatch::finish() {
    if (!ready_) return;
    while (next_ < buckets_.size()) report_next();
    ready_ = nullptr;
}

}  // namespace dbench::train
