#pragma once
// Reading the IDX format of MNIST and similar sets: a big-endian magic number (type and rank), one
// 32-bit size per dimension, then the bytes.

#include <cstdint>
#include <string>

#include "data/images.hpp"

namespace dbench::data {

struct IdxFiles {
    std::string images, labels;  ///< Paths, plain or .gz.
    std::string source;          ///< The source of the files, for messages.
};

/// Reads `count` images of 28x28 bytes and their labels. If `digests` is not null, it receives the
/// digests of the two files. Throws UserError if a magic number, count, size or label (0 .. 9) is
/// wrong.
Images read_idx(const IdxFiles& files, int64_t count, std::string digests[2] = nullptr);

}  // namespace dbench::data
