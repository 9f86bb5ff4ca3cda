#pragma once
// Classes of which the training, validation or test set has no sample.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace dbench::data {

/// Returns one warning for each set of `sets` that lacks classes which other sets have, and one for
/// classes that no set has. Each names the classes. `drawn`: labels are random, so small sets for
/// testing often lack a class by chance; only the training set is looked at. Returns nothing if
/// samples have no class.
std::vector<std::string> missing_class_warnings(const DataSets& sets, bool drawn);

/// Returns the smallest of `labels` that is not one of `known`; empty if there is none. Labels are
/// at least 0.
std::optional<int64_t> label_not_among(const std::vector<double>& labels,
                                       const std::vector<double>& known);

}  // namespace dbench::data
