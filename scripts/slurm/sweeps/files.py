"""Ordinary files only: a FIFO would be waited for without end, and a device be read without end."""

import errno
import os
import stat

NOT_ORDINARY = "not an ordinary file, but a folder, a FIFO or a device"


def opened(path, flags=os.O_RDONLY):
    """A descriptor of the file; OSError where it cannot be opened or is none."""
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, NOT_ORDINARY, path)
    return handle


def reader(path):
    """The file, open for reading bytes."""
    return os.fdopen(opened(path), "rb")


def anew(path):
    """The file, made or emptied, open for writing bytes."""
    return os.fdopen(opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")
