#pragma once
// Reads files of numbers that users supply: text, CSV, NumPy .npy.

#include <string>
#include <vector>

#include "base/input_digest.hpp"

namespace dbench::graphs {

/// Rows of finite numbers. Rows have equal length only if the file holds a matrix.
using NumberTable = std::vector<std::vector<double>>;

/// Reads a file of numbers: one table, or several from an array of three dimensions. A file that
/// starts with NumPy's magic bytes is a .npy array (float, int, bool, either order). Any other file
/// is text: numbers separated by blanks, tabs, commas or semicolons, one row per line, with `#`
/// comments. Throws UserError that names the file, the line and `remedy`. Adds the file's digest to
/// `inputs`, unless that is null or has the path already.
std::vector<NumberTable> read_tables(const std::string& path, const std::string& remedy,
                                     std::vector<base::InputDigest>* inputs = nullptr);

/// Reads a file of one table. Throws UserError as read_tables does, and if there are several.
NumberTable read_numbers(const std::string& path, const std::string& remedy);

/// Parse a file's content; `path` names the file in errors, and `remedy` says what to do about a
/// word that is not a number. The tables of a .npy array are those of its first dimension if it has
/// three; otherwise there is one.
std::vector<NumberTable> parse_npy(const std::string& content, const std::string& path);
NumberTable parse_text(const std::string& content, const std::string& path,
                       const std::string& remedy);

}  // namespace dbench::graphs
