"""Finds out whether the process that writes a result file is still alive."""

import fcntl
import os
import socket
import struct
import time
from pathlib import Path

GUARD_BYTE = 1 << 62  # a living writer holds a lock on this byte, far beyond any data
LOCK = "@hhqqi4x"  # struct flock of 64-bit Linux: type, whence, start, length, process
SILENT = 600  # seconds without a write after which an unknown writer counts as dead


def guarded(path: Path) -> bool | None:
    """Return whether a process holds the writer's lock; None if locks cannot be queried."""
    ask = getattr(fcntl, "F_OFD_GETLK", None)
    if ask is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        request = struct.pack(LOCK, fcntl.F_WRLCK, os.SEEK_SET, GUARD_BYTE, 1, 0)
        return struct.unpack(LOCK, fcntl.fcntl(descriptor, ask, request))[0] != fcntl.F_UNLCK
    except OSError:
        return None
    finally:
        os.close(descriptor)


def silence(path: Path) -> float:
    """Return the seconds since the file was last written; below 0 if its time is in the future."""
    return time.time() - path.stat().st_mtime


def condition(path: Path, host: str) -> str:
    """Return the state of the writer of a file that was not closed: alive, dead or unknown. `host`
    is the host that wrote the file last."""
    held = guarded(path)
    if held:
        return "alive"
    # Locks of other hosts are not visible here.
    blind = held is None or (host and host != socket.gethostname())
    return "unknown" if blind and abs(silence(path)) < SILENT else "dead"


def last_written(path: Path) -> str:
    """Return in words when the file was last written."""
    seconds = silence(path)
    if seconds < -1:
        return f"last written at a time that is {duration(-seconds)} in the future"
    return f"last written {duration(max(0.0, seconds))} ago"


def duration(seconds: float) -> str:
    """Return a time span in the unit that a reader expects: 4 s, 12 min, 35 h, 3 d."""
    for limit, divisor, unit in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / divisor:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"
