#pragma once
// Tests if a folder's file system supports what a result file needs, for `dbench doctor FOLDER`.

#include <string>
#include <vector>

namespace dbench::profile {

/// The results of all tests in one folder.
struct FolderCheck {
    struct Item {
        std::string what;
        bool good;
        std::string detail;  ///< The reason if the test failed.
    };
    std::string folder;
    std::vector<Item> items;
    bool good() const {
        for (const Item& item : items) {
            if (!item.good) return false;
        }
        return true;
    }
};

/// Tests the folder with files that it removes again: writing, locks between processes, fsync,
/// renaming over a file, reading while writing (HDF5's single-writer mode), and the free space.
/// Throws UserError if `folder` is not a folder.
FolderCheck check_folder(const std::string& folder);

/// Formats the results for a terminal, one line per test.
std::string to_text(const FolderCheck& check);

}  // namespace dbench::profile
