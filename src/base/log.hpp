#pragma once
// Messages for users on standard error: one line each, marked with its kind and, on ranks other
// than 0, with the rank.

#include <string>

namespace dbench::base {

/// Sets the rank that the lines of this process name. `quiet` drops notices, but never warnings.
void set_log_identity(int rank, bool quiet);
void set_log_rank(int rank);

void notice(const std::string& text);
void warn(const std::string& text);
void report_error(const std::string& text);

}  // namespace dbench::base
