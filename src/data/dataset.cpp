#include "data/dataset.hpp"

#include <functional>
#include <numeric>

namespace dbench::data {

bool has_sample_labels(const Dataset& data) {
    return data.classes() > 0 && data.label_shape().empty();
}

int64_t numel(const std::vector<int64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace dbench::data
