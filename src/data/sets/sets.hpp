#pragma once
// The rows of the data table, one source file each.

#include "data/dataset.hpp"

namespace dbench::data {

DataEntry shapes_data();
DataEntry regression_data();
DataEntry cifar10_data();
DataEntry mnist_data();
DataEntry fashion_mnist_data();

/// The parameter `root` of sets that lie in files.
base::Parameter root_parameter();

}  // namespace dbench::data
