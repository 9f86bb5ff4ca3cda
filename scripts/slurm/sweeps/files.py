"""Opens ordinary files only: opening a FIFO would block forever, and a device has no end."""

import errno
import os
import stat

NOT_ORDINARY = "not an ordinary file, but a folder, a FIFO or a device"


def opened(path, flags=os.O_RDONLY):
    """Return a descriptor of the file. Raises OSError if it cannot be opened or is not ordinary."""
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, NOT_ORDINARY, path)
    return handle


def reader(path):
    """Return the file, open for reading bytes."""
    return os.fdopen(opened(path), "rb")


def appended(path):
    """Return the file, created if it does not exist, open for writing bytes at its end."""
    return os.fdopen(opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab")
