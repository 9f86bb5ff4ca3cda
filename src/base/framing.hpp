#pragma once
// Packing several texts into one, each preceded by its length; and numbers into bytes.

#include <string>
#include <vector>

namespace dbench::base {

/// Returns the texts one after the other, each preceded by its length in 8 bytes (in the byte order
/// of this machine).
std::string join_texts(const std::vector<std::string>& texts);

/// Returns the texts that `join_texts` joined. Throws RunError if the bytes end early.
std::vector<std::string> split_texts(const std::string& bytes);

/// Returns the bytes of the numbers, in the byte order of this machine.
std::string bytes_of(const std::vector<double>& values);

/// Returns the numbers that `bytes_of` packed.
std::vector<double> doubles_of(const std::string& bytes);

}  // namespace dbench::base
