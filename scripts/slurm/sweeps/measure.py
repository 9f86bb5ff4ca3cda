"""Measures time and memory of runs by a few iterations of each, on this machine."""

import json
import os
import signal
import subprocess
import tempfile
import time

from . import jsonfile, log
from .local import launcher
from .process import outside_a_step
from .program import cores, find
from .text import Progress, bytes_text, duration_text

SHORT, LONG = 3, 13  # iterations of the two runs whose times are subtracted
MOST_SECONDS = 600  # of one such run


class Measurement:
    """`seconds` of the whole run, `memory` in bytes of the largest process, or `error`."""

    def __init__(self, seconds=0.0, memory=0, error=""):
        self.seconds, self.memory, self.error = seconds, memory, error

    def texts(self):
        """Return memory and time as columns of a table."""
        if self.error:
            return "", ""
        return bytes_text(self.memory), duration_text(self.seconds)

    def as_json(self):
        if self.error:
            return {"error": self.error}
        return {"seconds": self.seconds, "memory_bytes": self.memory}


def measured_run(run, iterations, folder):
    """Train a few iterations of a run without evaluations in between. Return (seconds, bytes of the
    largest process, error)."""
    spec = dict(run.spec, length={"iterations": iterations},
                output=os.path.join(folder, f"{iterations}.h5"))
    spec["evaluate"] = dict(spec.get("evaluate", {}), every=None)
    spec["checkpoint"] = dict(spec.get("checkpoint", {}), every=None)
    path, said = os.path.join(folder, "spec.json"), os.path.join(folder, "log")
    jsonfile.write(path, spec)
    began = time.time()
    with open(said, "wb") as output, subprocess.Popen(
            [*launcher(run.ranks), find(), "run", path, "--overwrite"], stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            env=outside_a_step()) as process:
        try:
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if time.time() - began > MOST_SECONDS:
                    process.terminate()
                    _, status, usage = os.wait4(process.pid, 0)
                    return 0, 0, f"{iterations} iterations take more than {MOST_SECONDS} s here"
                time.sleep(0.01)
        except KeyboardInterrupt:  # only this process has received the signal
            os.killpg(process.pid, signal.SIGTERM)
            raise
        process.returncode = status  # wait4 has collected it
    error = "" if status == 0 else log.reason(said) or f"status {status}"
    return time.time() - began, usage.ru_maxrss * 1024, error


def measure(run):
    """Measure one run."""
    if run.ranks > cores():
        return Measurement(error=f"{run.ranks} ranks, and this machine has {cores()} cores")
    with tempfile.TemporaryDirectory() as folder:
        before, _, error = measured_run(run, SHORT, folder)
        if error:
            return Measurement(error=error)
        after, memory, error = measured_run(run, LONG, folder)
        if error:
            return Measurement(error=error)
    each = max(after - before, 0) / (LONG - SHORT)
    training = each * run.iterations
    rest = max(before - SHORT * each, 0)  # start and end, with two evaluations
    evaluations = training * run.evaluation_share / max(1 - run.evaluation_share, 0.01)
    return Measurement(rest + training + evaluations, memory)


def setting(run):
    """Return what decides the time of a run: everything but seed, name and output."""
    return json.dumps({key: value for key, value in run.spec.items()
                       if key not in ("seed", "name", "output", "notes")}, sort_keys=True)


def measure_all(plan):
    """Measure the runs that must still be done, those that differ in the seed only once."""
    progress, known = Progress(), {}
    waiting = plan.needed()
    for k, run in enumerate(waiting):
        key = setting(run)
        if key not in known:
            progress(f"measuring {k + 1} of {len(waiting)}: {run.name}")
            known[key] = measure(run)
        run.measured = known[key]
    progress.clear()
