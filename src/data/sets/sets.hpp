#pragma once
// What the rows of the data table share.

#include "data/dataset.hpp"

namespace dbench::data {

/// The parameter `root` of sets that lie in files.
base::Parameter root_parameter();

}  // namespace dbench::data
