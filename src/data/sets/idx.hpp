#pragma once
// The IDX format of MNIST and its relatives: a big-endian magic number (type and rank), one 32-bit
// size per dimension, then the bytes.

#include <cstdint>
#include <string>

#include "data/images.hpp"

namespace dbench::data {

struct IdxFiles {
    std::string images, labels;  ///< paths, plain or .gz
    std::string source;          ///< where to get them, for messages
};

/// Reads `count` images of 28x28 bytes and their labels; digests, if given, are filled with those
/// of the two files. Throws UserError where magic numbers, counts, sizes or labels (0 .. 9) are
/// wrong.
Images read_idx(const IdxFiles& files, int64_t count, std::string digests[2] = nullptr);

}  // namespace dbench::data
