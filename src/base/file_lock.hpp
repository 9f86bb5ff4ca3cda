#pragma once
// Locks that end with the process, whatever ends that.

#include <cstdint>
#include <string>

namespace dbench::base {

enum class Share : uint8_t { shared, alone };

/// Bytes of a file, by where they start and how many there are; 0 of them: all from there on.
struct LockRange {
    int64_t first = 0, count = 0;
};

/// Locks them, as long as `descriptor` is open (where the system has no such locks: as long as the
/// process has the file open nowhere else). False where that cannot be, with errno.
bool lock_bytes(int descriptor, Share share, LockRange range);

enum class Locked : uint8_t { yes, no, unknown };  ///< unknown: no locks on this file system

/// Whether another descriptor has a lock, of either kind, on any of them.
Locked locked_bytes(int descriptor, LockRange range);

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
