#pragma once
// Samples of real numbers in memory, taken as they are.

#include <memory>
#include <vector>

#include "data/dataset.hpp"

namespace dbench::data {

/// `values`: (N, numel(shape)); `targets`: (N), labels where `classes` is not 0.
std::shared_ptr<const Dataset> number_set(std::vector<double> values, std::vector<int64_t> shape,
                                          std::vector<double> targets, int64_t classes);

}  // namespace dbench::data
