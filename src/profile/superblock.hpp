#pragma once
// The mark that HDF5 leaves in a file while somebody writes it. Internal to this room.

#include <cstdint>
#include <string>

#include "profile/h5.hpp"

namespace dbench::profile {

struct WriteMark {
    bool hdf5 = false;      ///< the file begins as an HDF5 file does
    bool writing = false;   ///< marked as open for writing
    bool readable = false;  ///< in single-writer mode: can be read meanwhile
};

/// Looks at the first bytes only. Throws h5::Error where the file cannot be read.
WriteMark write_mark(const std::string& path);

/// Opens for writing whatever the mark says (HDF5's own clear tool does the same); closing the file
/// clears it. Only for files whose writer is known to be gone. Throws h5::Error.
h5::File open_for_change(const std::string& path);

}  // namespace dbench::profile
