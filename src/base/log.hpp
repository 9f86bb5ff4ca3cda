#pragma once
// Messages for people on standard error. One line each, marked with their kind and, on ranks other
// than 0, with the rank.

#include <string>

namespace dbench::base {

/// Which rank's name the lines of this process carry; `quiet` drops notices, never warnings.
void set_log_identity(int rank, bool quiet);
void set_log_rank(int rank);

void notice(const std::string& text);
void warn(const std::string& text);
void report_error(const std::string& text);

}  // namespace dbench::base
