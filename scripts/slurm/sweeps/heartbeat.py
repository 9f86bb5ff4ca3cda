"""What a run leaves beside its result: OUTPUT.heartbeat while it runs, OUTPUT.crash-<rank>.log where it failed."""

import calendar
import glob
import json
import os
import re
import time

from .text import duration_text

STALE = 60  # seconds; the program writes one about every 10


class Heartbeat:
    """The program's last word on how far a run is (docs/output-format.md)."""

    def __init__(self, said):
        self.state = said["state"]
        self.done, self.total = int(said["iteration"]), int(said["iterations"])
        self.left, self.speed = said["eta_seconds"], said["samples_per_second"]
        self.updated = calendar.timegm(time.strptime(said["updated"][:19], "%Y-%m-%dT%H:%M:%S"))

    def age(self):
        return max(0, time.time() - self.updated)

    def alive(self):
        return self.age() <= STALE

    def text(self):
        parts = ["starts" if self.state == "starting" else progress_text(self.done, self.total)]
        if not self.alive():
            return ", ".join(parts + ["no sign of life for " + duration_text(self.age())])
        if self.left is not None:
            parts.append("about {} left".format(duration_text(self.left)))
        if self.speed is not None:
            parts.append("{:.3g} samples/s".format(self.speed) if self.speed < 1000 else
                         "{:.0f} samples/s".format(self.speed))
        return ", ".join(parts)


def progress_text(done, total):
    return "{:.0f} % ({} of {})".format(100.0 * done / max(total, 1), done, total)


def read(output, since=0):
    """The heartbeat of the run with this result file, None without one or with one from before `since`."""
    try:
        with open(output + ".heartbeat") as file:
            beat = Heartbeat(json.load(file))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return beat if beat.updated >= int(since) else None


def crash(output, since=0):
    """First line of the earliest crash log, of the lowest rank among equals; '' without one since then."""
    found = []
    for path in glob.glob(glob.escape(output) + ".crash-*.log"):
        rank = re.search(r"crash-(\d+)\.log$", path)
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                line, written = file.readline().strip(), os.fstat(file.fileno()).st_mtime
        except OSError:
            continue
        if rank and line and written >= since:
            found.append((written, int(rank.group(1)), line))
    return "rank {1}: {2:.160}".format(*min(found)) if found else ""


def checkpoint(output):
    """Iterations completed at the newest checkpoint, or None. Whether it is whole, the program finds out."""
    try:
        return max((int(name) for name in os.listdir(output + ".checkpoints") if name.isdigit()), default=None)
    except OSError:
        return None
