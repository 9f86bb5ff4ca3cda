"""The record of submitted jobs and their runs: <output>/.sweep/jobs.json, oldest first."""

import collections
import os
import re
import time

from . import jsonfile
from .problem import Problem

MOST_BYTES = 1 << 28  # each submission adds the names of its runs


def is_entry(job):
    """Return whether the value is an entry of the record."""
    return isinstance(job, dict) and all((
        isinstance(job.get("job"), str) and re.fullmatch(r"[0-9]+", job["job"]),
        job.get("kind") in ("array", "pack"),
        isinstance(job.get("submitted"), (int, float)),
        isinstance(job.get("site", 0), (str, type(None))),
        isinstance(job.get("runs"), list) and all(isinstance(name, str) for name in job["runs"])))


class Record:
    """The jobs that were submitted for a sweep."""
    def __init__(self, sweep):
        self.path = os.path.join(sweep.folder, "jobs.json")
        self.jobs = jsonfile.read(self.path, MOST_BYTES) if os.path.lexists(self.path) else []
        if not isinstance(self.jobs, list) or not all(map(is_entry, self.jobs)):
            raise Problem(self.path, "damaged: not a list of jobs",
                          "move the file away; its jobs are then listed by squeue only")

    def add(self, job, kind, runs, site):
        """Append a job and write the record."""
        self.jobs.append(collections.OrderedDict([
            ("job", job), ("kind", kind), ("submitted", time.time()), ("site", site),
            ("runs", runs)]))
        jsonfile.write(self.path, self.jobs)

    def ids(self):
        return [job["job"] for job in self.jobs]

    def site(self):
        return self.jobs[-1]["site"] if self.jobs else None

    def latest(self):
        """Return {run: (its id in the queue, the entry of its job)} from each run's last
        submission."""
        found = {}
        for job in self.jobs:
            for k, name in enumerate(job["runs"]):
                task = f"_{k}" if job["kind"] == "array" else ""
                found[name] = (job["job"] + task, job)
        return found
