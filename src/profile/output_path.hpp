#pragma once
// The path at which a result file is to appear. No existing file there is ever damaged.

#include <string>

namespace dbench::profile {

/// Owns a temporary name next to the path. The file is created there and moved to the path when it
/// is complete enough to be read; at that moment it replaces an old file.
class OutputPath {
public:
    /// Creates missing folders. Throws UserError if nothing can be written, or if `path` exists and
    /// may not be replaced: without `overwrite` nothing may, with it only a result file that no
    /// process is writing.
    OutputPath(const std::string& path, bool overwrite);
    ~OutputPath();  ///< Removes the temporary file if it was not published.
    OutputPath(const OutputPath&) = delete;
    OutputPath& operator=(const OutputPath&) = delete;

    const std::string& temporary() const { return temporary_; }
    const std::string& final_path() const { return path_; }
    /// Moves the file to its path. Throws UserError, also if another file has appeared there
    /// meanwhile.
    void publish();

private:
    std::string path_, temporary_;
    bool overwrite_;
    bool published_ = false;
};

}  // namespace dbench::profile
