#pragma once
// A lock that ends with the process, whatever ends that.

#include <string>

namespace dbench::base {

/// Holds a file of that name for this process alone; the file is made where there is none, and
/// stays. On a file system without locks nobody is kept out.
class FileLock {
public:
    FileLock() = default;
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    /// False where another process holds it. True where this one does, also from before.
    bool take(const std::string& path);
    void release();

private:
    int descriptor_ = -1;
};

}  // namespace dbench::base
