#pragma once
// Whether a folder's file system does what a result file needs: for `dbench doctor FOLDER`.

#include <string>
#include <vector>

namespace dbench::profile {

struct FolderCheck {
    struct Item {
        std::string what;
        bool good;
        std::string detail;  ///< the reason where not good
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

/// Tries out, in files that it removes again: writing, locks between processes, fsync, renaming
/// over a file, reading while writing (HDF5's single-writer mode), and the free space. Throws
/// UserError where `folder` is no folder.
FolderCheck check_folder(const std::string& folder);

/// For a terminal, one line an item.
std::string to_text(const FolderCheck& check);

}  // namespace dbench::profile
