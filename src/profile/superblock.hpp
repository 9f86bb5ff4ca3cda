#pragma once
// The first bytes of an HDF5 file, with the mark that a process is writing it. Internal to this
// module.

#include <string>

#include "profile/h5.hpp"

namespace dbench::profile {

/// The mark in a file's superblock.
struct WriteMark {
    bool hdf5 = false;      ///< The file begins like an HDF5 file.
    bool writing = false;   ///< Marked as open for writing.
    bool readable = false;  ///< In single-writer mode: can be read meanwhile.
};

/// Reads the mark. Throws h5::Error if the file cannot be read.
WriteMark write_mark(const std::string& path);

/// Clears the mark of a writer that has ended, and sets the recorded file size to the actual one (a
/// killed writer may not have updated it, and HDF5 would truncate the file there). Throws
/// h5::Error.
void clear_mark(const std::string& path);

/// Opens a file for writing that is not marked, or whose writer is known to have ended. The writer
/// may have been this process: the file is opened independently of its broken handle. Throws
/// h5::Error.
h5::File open_for_change(const std::string& path);

}  // namespace dbench::profile
