#include "data/heterogeneity.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dbench::data {
namespace {

using Counts = std::vector<int64_t>;

int64_t present(const Counts& counts) {
    return std::ranges::count_if(counts, [](int64_t count) { return count > 0; });
}

double total_variation(const Counts& a, int64_t a_total, const Counts& b, int64_t b_total) {
    double sum = 0;
    for (size_t c = 0; c < a.size(); ++c) {
        sum += std::abs(static_cast<double>(a[c]) / static_cast<double>(a_total) -
                        static_cast<double>(b[c]) / static_cast<double>(b_total));
    }
    return sum / 2;
}

}  // namespace

std::optional<Heterogeneity> heterogeneity(const Dataset& train, const Partition& partition,
                                           int64_t replicas) {
    if (!has_sample_labels(train)) return std::nullopt;
    const auto classes = static_cast<size_t>(train.classes());
    Counts whole(classes);
    for (int64_t k = 0; k < train.size(); ++k) ++whole[train.label(k)];

    Heterogeneity out;
    out.classes = present(whole);
    out.labels_min = train.classes();
    for (int64_t i = 0; i < replicas; ++i) {
        Counts mine(classes);
        for (const int64_t sample : partition.epoch(i, 0)) ++mine[train.label(sample)];
        const int64_t labels = present(mine);
        out.labels_min = std::min(out.labels_min, labels);
        out.labels_max = std::max(out.labels_max, labels);
        out.labels_mean += static_cast<double>(labels) / static_cast<double>(replicas);
        out.total_variation += total_variation(mine, partition.size(i), whole, train.size()) /
                               static_cast<double>(replicas);
    }
    return out;
}

}  // namespace dbench::data
