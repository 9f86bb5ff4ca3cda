#pragma once
// A parameter that several data sets share.

#include "data/dataset.hpp"

namespace dbench::data {

/// Returns the parameter `root` of data sets that are read from files.
base::Parameter root_parameter();

}  // namespace dbench::data
