#pragma once
// Checks that a result file holds what was written to it, for `dbench doctor FILE`.

#include <cstdint>
#include <string>
#include <vector>

namespace dbench::profile {

/// The result of a verification.
struct Verification {
    struct Damage {
        std::string data_set;
        int64_t first = 0, last = -1;  ///< Rows; last < first: the whole data set.
        std::string reason;
    };
    int64_t data_sets = 0, with_checksums = 0;
    std::vector<Damage> damage;  ///< The first damage of each data set.
};

/// Reads every data set to its end and compares checksums; changes nothing. Files of versions
/// before 1.1 have no checksums: only unreadable data are found there. Throws UserError if the file
/// cannot be opened.
Verification verify(const std::string& path);

/// Formats a verification for a terminal: one line, and one for each damage.
std::string to_text(const Verification& verification);

}  // namespace dbench::profile
