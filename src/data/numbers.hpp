#pragma once
// A data set of real numbers in memory, used without normalisation.

#include <memory>
#include <vector>

#include "data/dataset.hpp"

namespace dbench::data {

/// Returns a data set. `values` has the shape (N, numel(shape)); `targets` (N) are labels if
/// `classes` is not 0.
std::shared_ptr<const Dataset> number_set(std::vector<double> values, std::vector<int64_t> shape,
                                          std::vector<double> targets, int64_t classes);

}  // namespace dbench::data
