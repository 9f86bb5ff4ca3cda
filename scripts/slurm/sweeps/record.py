"""Which jobs were submitted for which runs: <output>/.sweep/jobs.json, oldest first."""

import collections
import os
import re
import time

from . import jsonfile
from .problem import Problem

MOST_BYTES = 1 << 28  # names of all runs, at each submission


def is_entry(job):
    return isinstance(job, dict) and all((
        isinstance(job.get("job"), str) and re.fullmatch(r"[0-9]+", job["job"]),
        job.get("kind") in ("array", "pack"),
        isinstance(job.get("submitted"), (int, float)),
        isinstance(job.get("site", 0), (str, type(None))),
        isinstance(job.get("runs"), list) and all(isinstance(name, str) for name in job["runs"])))


class Record:
    def __init__(self, sweep):
        self.path = os.path.join(sweep.folder, "jobs.json")
        self.jobs = jsonfile.read(self.path, MOST_BYTES) if os.path.lexists(self.path) else []
        if not isinstance(self.jobs, list) or not all(map(is_entry, self.jobs)):
            raise Problem(self.path, "damaged: not a list of jobs",
                          "move it away; jobs noted in it are then known to squeue alone")

    def add(self, job, kind, runs, site):
        self.jobs.append(collections.OrderedDict([
            ("job", job), ("kind", kind), ("submitted", time.time()), ("site", site),
            ("runs", runs)]))
        jsonfile.write(self.path, self.jobs)

    def ids(self):
        return [job["job"] for job in self.jobs]

    def site(self):
        return self.jobs[-1]["site"] if self.jobs else None

    def latest(self):
        """name -> (its id in the queue, the job's entry), by the last submission of each run."""
        found = {}
        for job in self.jobs:
            for k, name in enumerate(job["runs"]):
                task = f"_{k}" if job["kind"] == "array" else ""
                found[name] = (job["job"] + task, job)
        return found
