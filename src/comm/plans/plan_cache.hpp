#pragma once
// A cache of plans, by the matrix that they were made from.

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>

namespace dbench::comm {

/// Keeps the `capacity` plans that were used most recently. Only one thread may use it.
template <class Plan>
class PlanCache {
public:
    explicit PlanCache(size_t capacity) : capacity_(capacity) {}

    /// Returns the matrix's plan. Calls `make()` to create it if the cache does not hold it.
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
    std::list<Entry> entries_;  // most recently used first
    std::unordered_map<uint64_t, typename std::list<Entry>::iterator> index_;
};

}  // namespace dbench::comm
