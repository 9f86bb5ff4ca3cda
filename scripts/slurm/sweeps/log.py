"""Reads a run's log: its progress, and why it failed."""

import os
import re

from . import files

_PROGRESS = re.compile(r"dbench: +(\d+) % \((\d+) of (\d+)\)")


def tail(path, size=20000):
    """Return the last lines of a file."""
    try:
        with files.reader(path) as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - size))
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def written(path):
    """Return when the file was last written, in seconds since 1970; 0 if it does not exist."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


def progress(path):
    """Return (iterations done, of how many) from the last line that has them, or None."""
    for line in reversed(tail(path)):
        match = _PROGRESS.search(line)
        if match:
            return int(match.group(2)), int(match.group(3))
    return None


def reason(path):
    """Return the line that best explains why the run ended."""
    lines = [line.strip() for line in tail(path) if line.strip(" -=*")]
    for pattern in ("dbench: error:", "error:", "signal", "not found"):
        found = [line for line in lines if pattern in line.lower()]
        if found:
            return found[0][:160] if pattern == "dbench: error:" else found[-1][:160]
    return lines[-1][:160] if lines else ""
