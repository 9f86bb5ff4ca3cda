#pragma once
// A data set with labels but without inputs, and partitions of it by their spec.

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.hpp"

namespace dbench::test {

/// A data set of which tests use only sample numbers and labels.
class NumberedSet : public data::Dataset {
public:
    explicit NumberedSet(std::vector<int64_t> labels, int64_t classes = 10)
        : labels_(std::move(labels)), classes_(classes) {}
    int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
    std::vector<int64_t> shape() const override { return {1}; }
    int64_t classes() const override { return classes_; }
    void input(int64_t, arena::DType, data::Order, uint64_t, void*) const override {}
    int64_t label(int64_t index) const override { return labels_[index]; }
    double target(int64_t) const override { return 0; }

private:
    std::vector<int64_t> labels_;
    int64_t classes_;
};

/// Returns a set with labels 0, 1, ..., 9, 0, 1, ...
inline NumberedSet ten_labels(int64_t size) {
    std::vector<int64_t> labels;
    for (int64_t k = 0; k < size; ++k) labels.push_back(k % 10);
    return NumberedSet(std::move(labels));
}

/// Returns the partition that `given` (a name or an object, as in /data/partition) describes, with
/// defaults filled in.
inline std::unique_ptr<data::Partition> partition_of(const base::Json& given,
                                                     const data::Dataset& set, int64_t replicas,
                                                     uint64_t seed = 1) {
    const auto& table = data::partition_table();
    const base::Json spec =
        base::resolve_member(given, "/data/partition", "partition", base::entries_of(table));
    return base::find_entry(table, spec.at("type").get<std::string>())
        ->make(spec, set, {replicas, seed});
}

}  // namespace dbench::test
