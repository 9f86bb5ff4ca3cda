#pragma once
// Formatting of numbers for messages and for the reasons of controllers.

#include <string>

namespace dbench::graphs {

/// Returns `value` with at most `digits` significant digits, such as 0.0012 or 3.2e+09.
std::string number_text(double value, int digits = 4);

}  // namespace dbench::graphs
