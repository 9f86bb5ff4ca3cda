#include "data/dataset.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.hpp"

namespace dbench::data {

Extent Dataset::extent(int64_t) const { return {1, numel(shape()), numel(label_shape())}; }

void Dataset::pairs(int64_t, int64_t, int64_t*, int64_t*, int64_t*) const { DBENCH_EXPECT(false); }

std::string Dataset::text(const std::vector<int64_t>&) const {
    DBENCH_EXPECT(false);
    return "";
}

Extent total_extent(const Dataset& data) {
    const int64_t size = data.size();
    if (!data.ragged()) return {size, numel(data.shape()), size * numel(data.label_shape())};
    Extent sum{0, 0, 0};
    for (int64_t k = 0; k < size; ++k) {
        const Extent each = data.extent(k);
        sum.rows += each.rows;
        sum.length = std::max(sum.length, each.length);
        sum.terms += each.terms;
    }
    return sum;
}

int64_t terms(const Dataset& data) { return total_extent(data).terms; }

bool has_sample_labels(const Dataset& data) {
    return data.classes() > 0 && data.label_shape().empty();
}

int64_t numel(const std::vector<int64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace dbench::data
