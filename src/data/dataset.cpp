#include "data/dataset.hpp"

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

int64_t terms(const Dataset& data) {
    if (!data.ragged()) return data.size() * numel(data.label_shape());
    int64_t sum = 0;
    for (int64_t k = 0; k < data.size(); ++k) sum += data.extent(k).terms;
    return sum;
}

bool has_sample_labels(const Dataset& data) {
    return data.classes() > 0 && data.label_shape().empty();
}

int64_t numel(const std::vector<int64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace dbench::data
