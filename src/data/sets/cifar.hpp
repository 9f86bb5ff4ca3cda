#pragma once

#include <cstdint>
#include <string>

#include "data/images.hpp"

namespace dbench::data {

/// Appends the images of one binary CIFAR-10 file of `records` records; returns its digest. Throws
/// UserError where size or labels are wrong.
std::string append_cifar10(const std::string& path, int64_t records, Images& images);

}  // namespace dbench::data
