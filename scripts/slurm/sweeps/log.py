"""What a run's log says: how far it is, and why it failed."""

import os
import re

from . import files

_PROGRESS = re.compile(r"dbench: +(\d+) % \((\d+) of (\d+)\)")


def tail(path, size=20000):
    try:
        with files.reader(path) as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - size))
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def written(path):
    """When it was last written to, in seconds since 1970; 0 without such a file."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


def progress(path):
    """(iterations done, of how many) by the last line that says so, or None."""
    for line in reversed(tail(path)):
        match = _PROGRESS.search(line)
        if match:
            return int(match.group(2)), int(match.group(3))
    return None


def reason(path):
    """The line that best says why the run ended."""
    lines = [line.strip() for line in tail(path) if line.strip(" -=*")]
    for pattern in ("dbench: error:", "error:", "signal", "not found"):
        found = [line for line in lines if pattern in line.lower()]
        if found:
            return found[0][:160] if pattern == "dbench: error:" else found[-1][:160]
    return lines[-1][:160] if lines else ""
