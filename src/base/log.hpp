#pragma once
// Messages for users on standard error: one line each, marked with its kind and, on ranks other
// than 0, with the rank.

#include <string>
#include <vector>

namespace dbench::base {

/// Sets the rank that the lines of this process name. `quiet` drops notices, but never warnings.
void set_log_identity(int rank, bool quiet);
void set_log_rank(int rank);

void notice(const std::string& text);
void warn(const std::string& text);
void report_error(const std::string& text);

/// Keeps the texts of all warnings that this process prints as rank 0 while the object lives. Only
/// one object may live at a time.
class KeptWarnings {
public:
    KeptWarnings();
    ~KeptWarnings();
    KeptWarnings(const KeptWarnings&) = delete;

    std::vector<std::string> texts() const;
};

}  // namespace dbench::base
