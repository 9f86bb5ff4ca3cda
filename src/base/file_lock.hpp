#pragma once
// File locks that the system releases when the process ends, however it ends.

#include <cstdint>
#include <string>

namespace dbench::base {

enum class LockMode : uint8_t { shared, exclusive };

/// A range of bytes of a file: its start and length. `count` 0: to the end of the file.
struct LockRange {
    int64_t first = 0, count = 0;
};

/// Locks a range for as long as `descriptor` is open. Returns false, with errno, if the lock is not
/// granted.
bool try_lock_bytes(int descriptor, LockMode share, LockRange range);

enum class LockState : uint8_t { yes, no, unknown };  ///< unknown: the file system has no locks.

/// Returns whether another descriptor holds a lock, of either kind, on any byte of the range.
LockState lock_state(int descriptor, LockRange range);

/// Locks a file for this process alone, for example to protect a folder. Creates the file if needed
/// and does not delete it. On a file system without locks, it always succeeds.
class FileLock {
public:
    FileLock() = default;
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    /// Returns false if another process holds the lock; true if this process holds it, also from an
    /// earlier call.
    bool take(const std::string& path);
    void release();

private:
    int descriptor_ = -1;
};

}  // namespace dbench::base
