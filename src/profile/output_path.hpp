#pragma once
// The path at which a result file is to appear. No existing file there is ever damaged.

#include <string>

#include "profile/file_guard.hpp"

namespace dbench::profile {

/// Owns a temporary name next to the path. The file is created there and moved to the path when it
/// is complete enough to be read; at that moment it replaces an old file, which is locked from the
/// check until then.
class OutputPath {
public:
    /// Creates missing folders. Throws UserError if nothing can be written, or if `path` exists and
    /// may not be replaced: without `overwrite` nothing may, with it only a result file that no
    /// process is writing or replacing.
    /// `continued`: the run in the existing file goes on, so no message may advise to remove it.
    OutputPath(const std::string& path, bool overwrite, bool continued = false);
    ~OutputPath();  ///< Removes the temporary file if it was not published.
    OutputPath(const OutputPath&) = delete;
    OutputPath& operator=(const OutputPath&) = delete;

    const std::string& temporary() const { return temporary_; }
    const std::string& final_path() const { return path_; }
    /// Moves the file to its path. Throws UserError, also if another file has appeared there
    /// meanwhile.
    void publish();

private:
    void claim_old_file();

    std::string path_, temporary_;
    bool replaces_ = false;  ///< A file exists at the path.
    FileGuard old_;          ///< Holds the lock on that file.
    bool published_ = false;
};

}  // namespace dbench::profile
