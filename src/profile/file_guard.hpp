#pragma once
// A writer's second descriptor of its file. It shows other processes that the writer is alive, and
// reserves disk space before HDF5 needs it.

#include <cstdint>
#include <string>

#include "base/file_lock.hpp"
#include "profile/h5.hpp"

namespace dbench::profile {

/// The file system has no space left; nothing was written.
class NoSpace : public h5::Error {
public:
    using h5::Error::Error;
};

/// Another process holds a lock on the file that excludes the requested one.
class GuardHeld : public h5::Error {
public:
    using h5::Error::Error;
};

/// HDF5 does not recover from a failed write, so space is allocated before it writes (beyond the
/// file's end, if the file system can do that): "disk full" and "over quota" are noticed then.
/// The lock is a shared one on a byte far beyond any data. It ends with the process, however that
/// ends, and conflicts neither with readers nor with HDF5's own locks.
class FileGuard {
public:
    FileGuard() = default;
    /// `mode` shared: a writer's lock. Exclusive: the lock of a run that is about to replace the
    /// file; the constructor throws GuardHeld if a writer or another such run holds its own. Throws
    /// h5::Error if the file cannot be opened.
    explicit FileGuard(const std::string& path, base::LockMode mode = base::LockMode::shared);
    FileGuard(FileGuard&& other) noexcept;
    FileGuard& operator=(FileGuard&& other) noexcept;
    ~FileGuard();

    /// Ensures that the file can grow by `bytes` and a margin. Throws NoSpace.
    void reserve(int64_t bytes);
    /// Syncs the written data to the disk. Returns the error as text; "" if there was none, or if
    /// the file system cannot sync.
    std::string sync();
    /// Releases reserved space that was not used, and syncs the file to the disk.
    void release_reserve() noexcept;

    /// Returns a name that leads to this very file during the guard's lifetime, even if the file is
    /// moved or removed.
    std::string name(const std::string& path) const;
    /// Returns why `path` no longer leads to this file, and where the file is now; "" if it does.
    std::string path_problem(const std::string& path) const;
    int64_t size() const noexcept;  ///< Bytes.

private:
    int descriptor_ = -1;
    int64_t reserved_ = 0;  ///< File size that is known to be available.
    bool can_reserve_ = true;
};

/// Tests if a living process holds a FileGuard on `path`.
base::LockState writer_lock(const std::string& path);

}  // namespace dbench::profile
