#pragma once
// Whether a result file holds what was written to it: for `dbench doctor FILE`.

#include <cstdint>
#include <string>
#include <vector>

namespace dbench::profile {

struct Verification {
    struct Damage {
        std::string data_set;
        int64_t first = 0, last = -1;  ///< rows; last < first: of the whole
        std::string reason;
    };
    int64_t data_sets = 0, with_checksums = 0;
    std::vector<Damage> damage;  ///< the first of each data set
};

/// Reads every data set to its end and compares checksums; changes nothing. Files of versions
/// before 1.1 have none: there only what cannot be read at all is found. Throws UserError where
/// the file cannot be opened.
Verification verify(const std::string& path);

/// For a terminal, one line, and one for each damage.
std::string to_text(const Verification& verification);

}  // namespace dbench::profile
