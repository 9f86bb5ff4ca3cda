#pragma once
// Files of numbers that users bring: text, CSV, NumPy .npy.

#include <string>
#include <vector>

namespace dbench::graphs {

/// Rows of finite numbers; of equal length only where the file is a matrix.
using NumberTable = std::vector<std::vector<double>>;

/// Reads a .npy array of one or two dimensions (float, int, bool, either order), by its magic, or
/// else text: numbers separated by blanks, tabs, commas or semicolons, one row a line, `#`
/// comments. Throws UserError naming file, line and remedy.
NumberTable read_numbers(const std::string& path);

/// The same from a file's content; `path` names it in errors.
NumberTable parse_npy(const std::string& content, const std::string& path);
NumberTable parse_text(const std::string& content, const std::string& path);

}  // namespace dbench::graphs
