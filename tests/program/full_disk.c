// A library for LD_PRELOAD that emulates a full disk: writes to files whose paths fit the shell pattern $FULL_DISK
// fail. If $FULL_DISK_WHEN is set, they fail from the moment at which that file exists. If $FULL_DISK_SYNCS is set, they
// succeed, and only fdatasync fails.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int concerns(int file) {
    const char* pattern = getenv("FULL_DISK");
    const char* when = getenv("FULL_DISK_WHEN");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (!pattern || length < 0) return 0;
    path[length] = 0;
    if (fnmatch(pattern, path, 0) != 0 || (when && access(when, F_OK) != 0)) return 0;
    return 1;
}

static int full(int file) {
    if (getenv("FULL_DISK_SYNCS") || !concerns(file)) return 0;
    errno = ENOSPC;
    return 1;
}

int fdatasync(int file) {
    if (!getenv("FULL_DISK_SYNCS") || !concerns(file)) return (int)syscall(SYS_fdatasync, file);
    errno = EIO;
    return -1;
}

ssize_t write(int file, const void* data, size_t bytes) {
    return full(file) ? -1 : syscall(SYS_write, file, data, bytes);
}
ssize_t pwrite(int file, const void* data, size_t bytes, off_t at) {
    return full(file) ? -1 : syscall(SYS_pwrite64, file, data, bytes, at);
}
ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t at) {
    return full(file) ? -1 : syscall(SYS_pwrite64, file, data, bytes, at);
}
int fallocate(int file, int mode, off_t at, off_t bytes) {
    return full(file) ? -1 : (int)syscall(SYS_fallocate, file, mode, at, bytes);
}
int fallocate64(int file, int mode, off64_t at, off64_t bytes) {
    return full(file) ? -1 : (int)syscall(SYS_fallocate, file, mode, at, bytes);
}
ssize_t copy_file_range(int from, off64_t* read_at, int file, off64_t* at, size_t bytes, unsigned flags) {
    return full(file) ? -1 : syscall(SYS_copy_file_range, from, read_at, file, at, bytes, flags);
}
ssize_t sendfile(int file, int from, off_t* at, size_t bytes) {
    return full(file) ? -1 : syscall(SYS_sendfile, file, from, at, bytes);
}
