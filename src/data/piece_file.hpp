#pragma once
// Byte pairs in a file, so that they are learnt once: `dbench data pieces`.

#include <cstdint>
#include <string>

#include "data/byte_pairs.hpp"

namespace dbench::data {

/// Text: a line with the number of pieces and the CRC-32 of all that follows, then
/// BytePairs::text(). Throws RunError.
void write_pieces(const BytePairs& pieces, const std::string& path);

/// Whether the file begins as write_pieces has it.
bool holds_pieces(const std::string& path);

/// All pieces of a file. Throws UserError, which names the file, where it is not what write_pieces
/// has written.
BytePairs read_pieces(const std::string& path);

}  // namespace dbench::data
