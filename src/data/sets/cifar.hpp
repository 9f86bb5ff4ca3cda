#pragma once

#include <cstdint>
#include <string>

#include "data/images.hpp"

namespace dbench::data {

/// A record of a CIFAR file: label bytes, and 3072 pixel bytes: red, green and blue planes of 32
/// rows.
struct CifarRecord {
    int64_t labels;   ///< label bytes
    int64_t label;    ///< which of them is the label
    int64_t classes;  ///< of that label
    const char* source;
};
inline constexpr CifarRecord kCifar10{1, 0, 10,
                                      "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"};
/// The coarse label, then the fine one.
inline constexpr CifarRecord kCifar100{2, 1, 100,
                                       "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"};
inline constexpr CifarRecord kCifar100Coarse{2, 0, 20, kCifar100.source};

/// Appends the images of a file of `count` records; returns its digest. Throws UserError where size
/// or labels are wrong.
std::string append_cifar(const std::string& path, const CifarRecord& record, int64_t count,
                         Images& images);

}  // namespace dbench::data
