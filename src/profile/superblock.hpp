#pragma once
// The first bytes of an HDF5 file: the mark that somebody is writing it. Internal to this room.

#include <string>

#include "profile/h5.hpp"

namespace dbench::profile {

struct WriteMark {
    bool hdf5 = false;      ///< the file begins as an HDF5 file does
    bool writing = false;   ///< marked as open for writing
    bool readable = false;  ///< in single-writer mode: can be read meanwhile
};

/// Throws h5::Error where the file cannot be read.
WriteMark write_mark(const std::string& path);

/// Wipes the mark of a writer that is gone, and sets the file's size to what it is (a killed
/// writer's note of it may lag behind, and HDF5 would cut the file there). Throws h5::Error.
void wipe_mark(const std::string& path);

/// Opens for writing a file that is not marked, or whose writer is known to be gone: it may be this
/// process itself, whose own broken handle stays apart. Throws h5::Error.
h5::File open_for_change(const std::string& path);

}  // namespace dbench::profile
