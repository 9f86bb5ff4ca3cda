"""Reads a run's log: its progress, and why it failed."""

import os
import re

from . import files

# The best reason first. After Slurm has ended a job, each of its ranks has an "error:", too.
_REASONS = ("(?i)dbench: error:", r"DUE TO |(?i:\boom\b|out of memory)", "CANCELLED",
            "(?i)error:", "(?i)signal", "(?i)not found")
_PROGRESS = re.compile(r"dbench: +(\d+) % \((\d+) of (\d+)\)")


def tail(path, start=0, size=20000):
    """Return the last lines of a file after its first `start` bytes."""
    try:
        with files.reader(path) as file:
            file.seek(0, 2)
            file.seek(max(start, file.tell() - size))
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def written(path):
    """Return when the file was last written, in seconds since 1970; 0 if it does not exist."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


def progress(path, start=0):
    """Return (iterations done, of how many) from the last line that has them, or None."""
    for line in reversed(tail(path, start)):
        match = _PROGRESS.search(line)
        if match:
            return int(match.group(2)), int(match.group(3))
    return None


def reason(path, start=0):
    """Return the line that best explains why the run ended."""
    lines = [line.strip() for line in tail(path, start) if line.strip(" -=*")]
    for k, pattern in enumerate(_REASONS):
        found = [line for line in lines if re.search(pattern, line)]
        if found:
            return found[-1 if k else 0][:160]
    return lines[-1][:160] if lines else ""
