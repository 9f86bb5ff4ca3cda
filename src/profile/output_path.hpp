#pragma once
// Where a result file is to appear: nothing that stands there is ever damaged.

#include <string>

namespace dbench::profile {

/// The file is made under a temporary name beside its place and moved there when it is complete
/// enough to be read; an old file is replaced in that moment.
class OutputPath {
public:
    /// Makes missing folders. Throws UserError where nothing can be written, or where something
    /// stands at `path` that may not be replaced: anything without `overwrite`; with it, anything
    /// but a result file that nobody is writing.
    OutputPath(const std::string& path, bool overwrite);
    ~OutputPath();  ///< removes the temporary file if it was not published
    OutputPath(const OutputPath&) = delete;
    OutputPath& operator=(const OutputPath&) = delete;

    const std::string& temporary() const { return temporary_; }
    const std::string& final_path() const { return path_; }
    /// Throws UserError, also if another file has appeared there meanwhile.
    void publish();

private:
    std::string path_, temporary_;
    bool overwrite_;
    bool published_ = false;
};

}  // namespace dbench::profile
