"""The files next to a run's result: OUTPUT.heartbeat while it runs, OUTPUT.crash-<rank>.log after a
failure."""

import calendar
import glob
import math
import os
import re
import socket
import time

from . import files, jsonfile
from .problem import Problem
from .text import duration_text

STALE = 60  # seconds; the program writes a heartbeat about every 10 seconds


def number(value):
    """Return the value if it is finite, else None."""
    return None if value is None or not math.isfinite(value) else value


class Heartbeat:
    """The program's last report on the progress of a run (docs/output-format.md)."""

    def __init__(self, report):
        self.state, self.job = report["state"], report.get("job", "")
        self.host, self.process = report.get("host", ""), int(report.get("pid", 0))
        self.done, self.total = int(report["iteration"]), int(report["iterations"])
        self.left = number(report["eta_seconds"])
        self.speed, self.unit = number(report.get("tokens_per_second")), "tokens/s"
        if self.speed is None:
            self.speed, self.unit = number(report["samples_per_second"]), "samples/s"
        self.updated = calendar.timegm(time.strptime(report["updated"][:19], "%Y-%m-%dT%H:%M:%S"))

    def age(self):
        """Return the seconds since the report was written; below 0 if its time is in the
        future."""
        return time.time() - self.updated

    def alive(self):
        """Return whether the report is recent. A time in the future says nothing."""
        return abs(self.age()) <= STALE

    def killed(self):
        """Return whether its process was one of this host and exists no longer."""
        return (self.host == socket.gethostname() and self.process > 0
                and not os.path.exists(f"/proc/{self.process}"))

    def silence(self):
        """Return in words for how long the run has been silent."""
        if self.age() < 0:
            return ("its last sign of life is dated " + duration_text(-self.age())
                    + " in the future")
        return "no sign of life for " + duration_text(self.age())

    def text(self):
        """Return progress, remaining time and speed in words."""
        parts = ["starts" if self.state == "starting" else progress_text(self.done, self.total)]
        if not self.alive():
            return ", ".join(parts + [self.silence()])
        if self.left is not None:
            parts.append(f"about {duration_text(self.left)} left")
        if self.speed is not None:
            parts.append(f"{self.speed:.3g} {self.unit}" if self.speed < 1000 else
                         f"{self.speed:.0f} {self.unit}")
        return ", ".join(parts)


def belongs(written, since):
    """Return whether a file of this time was written after `since`. A time in the future says
    nothing, as a file of an earlier job may have it."""
    return since <= written <= time.time() + STALE


def progress_text(done, total):
    """Return progress in per cent and in iterations."""
    return f"{100.0 * done / max(total, 1):.0f} % ({done} of {total})"


def read(output, since=0):
    """Return the heartbeat of the run with this result file; None if it does not exist or is older
    than `since`."""
    try:
        beat = Heartbeat(jsonfile.read_object(output + ".heartbeat"))
    except (Problem, ValueError, KeyError, TypeError, OverflowError):
        return None
    return beat if beat.updated >= int(since) else None


def crash(output, since=0):
    """Return the first line of the earliest crash log after `since`, of the lowest rank among
    equals; "" without one."""
    found = []
    for path in glob.glob(glob.escape(output) + ".crash-*.log"):
        rank = re.search(r"crash-(\d+)\.log$", path)
        try:
            with files.reader(path) as file:
                line = file.readline(1000).decode("utf-8", "replace").strip()
                written = os.fstat(file.fileno()).st_mtime
        except OSError:
            continue
        if rank and line and belongs(written, since):
            found.append((written, int(rank.group(1)), line))
    return "rank {1}: {2:.160}".format(*min(found)) if found else ""


def checkpoint(output):
    """Return the iterations completed at the newest checkpoint, or None. Only the program checks
    whether the checkpoint is complete."""
    try:
        names = os.listdir(output + ".checkpoints")
    except OSError:
        return None
    return max((int(name) for name in names if re.fullmatch("[0-9]+", name)), default=None)
