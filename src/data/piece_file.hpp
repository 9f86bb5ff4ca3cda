#pragma once
// Storing a byte-pair vocabulary in a file, so that it is learnt only once: `dbench data pieces`.

#include <cstdint>
#include <string>

#include "data/byte_pairs.hpp"

namespace dbench::data {

/// Writes a text file: a line with the number of pieces and the CRC-32 of everything after that
/// line, then BytePairs::text(). Throws RunError.
void write_pieces(const BytePairs& pieces, const std::string& path);

/// Returns true if the file begins like one of write_pieces. Throws UserError if it cannot be read.
bool holds_pieces(const std::string& path);

/// Reads all pieces of a file. Throws UserError, which names the file, if write_pieces did not
/// write it or it was changed.
BytePairs read_pieces(const std::string& path);

}  // namespace dbench::data
