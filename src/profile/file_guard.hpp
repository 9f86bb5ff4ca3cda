#pragma once
// A writer's second descriptor of its file: shows others that it lives, and asks the file system
// for space before HDF5 needs it.

#include <cstdint>
#include <string>

#include "base/file_lock.hpp"
#include "profile/h5.hpp"

namespace dbench::profile {

/// The file system has no room left; nothing was written.
class NoRoom : public h5::Error {
public:
    using h5::Error::Error;
};

/// HDF5 does not survive a failed write well, so space is allocated (beyond the file's end, where
/// the file system can) before it writes; "disk full" and "over quota" then show here.
/// The lock is a shared one on a byte far behind any data: it ends with the process, whatever ends
/// that, and hinders neither readers nor HDF5's own locks.
class FileGuard {
public:
    FileGuard() = default;
    explicit FileGuard(const std::string& path);  ///< throws h5::Error
    FileGuard(FileGuard&& other) noexcept;
    FileGuard& operator=(FileGuard&& other) noexcept;
    ~FileGuard();

    /// Makes sure that the file can grow by `bytes` and some more. Throws NoRoom.
    void reserve(int64_t bytes);
    /// Brings what was written to the disk.
    void sync() noexcept;
    /// Gives back what was reserved and not used, and brings the file to the disk.
    void settle() noexcept;

    /// A name that leads to this very file, moved or removed though it may be, while this lives.
    std::string name(const std::string& path) const;
    /// Why `path` does not lead to this file any more, and where it is now; "" where it does.
    std::string astray(const std::string& path) const;
    int64_t size() const noexcept;  ///< bytes

private:
    int descriptor_ = -1;
    int64_t reserved_ = 0;  ///< file size that has been made sure of
    bool can_reserve_ = true;
};

/// Whether a living process holds a FileGuard on `path`.
base::Locked guarded(const std::string& path);

}  // namespace dbench::profile
