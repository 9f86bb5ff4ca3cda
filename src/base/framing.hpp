#pragma once
// Packing several texts into one, each preceded by its length; and numbers into bytes.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dbench::base {

/// Returns the texts one after the other, each preceded by its length in 8 bytes (in the byte order
/// of this machine).
std::string join_texts(const std::vector<std::string>& texts);

/// Returns the texts that `join_texts` joined. Throws RunError if the bytes end early.
std::vector<std::string> split_texts(const std::string& bytes);

/// Returns the bytes of the numbers, in the byte order of this machine.
std::string bytes_of(std::span<const double> values);

/// Returns the numbers that `bytes_of` packed; of several texts, the numbers of one after the
/// other.
std::vector<double> doubles_of(std::string_view bytes);
std::vector<double> doubles_of(const std::vector<std::string>& texts);

}  // namespace dbench::base
