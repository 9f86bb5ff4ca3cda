#pragma once
// Reading the binary files of CIFAR-10 and CIFAR-100.

#include <cstdint>
#include <string>

#include "data/images.hpp"

namespace dbench::data {

/// The layout of a record in a CIFAR file: label bytes, then 3072 pixel bytes (red, green and blue
/// planes of 32 rows).
struct CifarRecord {
    int64_t labels;   ///< Number of label bytes.
    int64_t label;    ///< Index of the label byte that is used.
    int64_t classes;  ///< Number of classes of that label.
    const char* source;
};
inline constexpr CifarRecord kCifar10{1, 0, 10,
                                      "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"};
/// The first byte is the coarse label, the second the fine one.
inline constexpr CifarRecord kCifar100{2, 1, 100,
                                       "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"};
inline constexpr CifarRecord kCifar100Coarse{2, 0, 20, kCifar100.source};

/// Appends the images of a file of `count` records and returns its digest. Throws UserError if the
/// size or a label is wrong.
std::string append_cifar(const std::string& path, const CifarRecord& record, int64_t count,
                         Images& images);

}  // namespace dbench::data
