#pragma once
// Text in columns and sizes with units, for people to read.

#include <string>
#include <vector>

namespace dbench::base {

/// Returns `text` padded with blanks to `width` characters; appends at least one blank.
std::string column(const std::string& text, size_t width);

/// Returns rows of equally many cells as lines: the first column is left-aligned, the others are
/// right-aligned, with two blanks between columns.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

/// Returns a number as JSON writes it, but a whole number without a fraction.
std::string number_text(double value);

/// Returns a size such as "17 B" or "1.5 GiB".
std::string bytes_text(double bytes);

}  // namespace dbench::base
