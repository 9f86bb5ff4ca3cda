#pragma once
// Plans by the matrix they belong to.

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>

namespace dbench::comm {

/// Keeps the `capacity` plans that were used last.
template <class Plan>
class PlanCache {
public:
    explicit PlanCache(size_t capacity) : capacity_(capacity) {}

    template <class Make>
    std::shared_ptr<const Plan> get(uint64_t matrix, Make&& make) {
        const auto known = index_.find(matrix);
        if (known != index_.end()) {
            entries_.splice(entries_.begin(), entries_, known->second);
        } else {
            entries_.push_front({matrix, std::make_shared<const Plan>(make())});
            index_[matrix] = entries_.begin();
        }
        if (entries_.size() > capacity_) {
            index_.erase(entries_.back().matrix);
            entries_.pop_back();
        }
        return entries_.front().plan;
    }

private:
    struct Entry {
        uint64_t matrix;
        std::shared_ptr<const Plan> plan;
    };
    size_t capacity_;
    std::list<Entry> entries_;  // the last used comes first
    std::unordered_map<uint64_t, typename std::list<Entry>::iterator> index_;
};

}  // namespace dbench::comm
