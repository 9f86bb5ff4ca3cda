#pragma once
// Text in columns, and sizes, for people.

#include <string>
#include <vector>

namespace dbench::base {

/// `text` and blanks up to `width` characters; at least one blank.
std::string column(const std::string& text, size_t width);

/// Rows of equally many cells, each a line: the first column to the left, the others to the right,
/// two blanks between.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

/// "17 B", "1.5 GiB"
std::string bytes_text(double bytes);

}  // namespace dbench::base
