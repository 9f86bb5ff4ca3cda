"""Measure one run of one case: the milliseconds of an iteration on the slowest rank."""

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import steps

from .environment import last_line
from .hosts import die_with_parent

MODELS = {"mlp": {"type": "mlp", "hidden": [2048, 1024]}, "resnet20": {"type": "resnet20"}}
PARAMETERS = {"mlp": 3072 * 2048 + 2048 * 1024 + 1024 * 10 + 2048 + 1024 + 10, "resnet20": 269722}
LEARNING = {"lr": 0.01, "momentum": 0.9}
SAMPLES = 2048  # generated images, as in worker.py
WORKER = Path(__file__).with_name("worker.py")


class Failed(Exception):
    """A run ended without a result; the message says why."""


@dataclass
class Run:
    """The settings of every run of a comparison; `python` is the Python of the other programs."""
    ranks: int
    iterations: int
    warm_up: int
    batch: int
    bucket: int
    node: int
    timeout: float
    python: str = ""

    def spec(self, case, model, folder):
        changes = {"reduction": "library", **case.spec,
                   "model": MODELS[model], "replicas": self.ranks,
                   "data": {"type": "shapes", "train": SAMPLES, "test": 64,
                            "batch_size": self.batch},
                   "optimizer": {"type": "sgd", **LEARNING},
                   "profile": steps.NOTHING_RECORDED,
                   "length": {"iterations": self.warm_up + self.iterations}}
        if case.exchange == "none":
            changes.update(steps.apart(folder, self.ranks))
        return changes

    def settings(self, case, model, store):
        return {"case": case.name, "model": model, "hidden": MODELS[model].get("hidden"),
                "batch": self.batch, "bucket": self.bucket, "node": self.node,
                "warm_up": self.warm_up, "iterations": self.iterations, "ranks": self.ranks,
                "samples": SAMPLES, "store": str(store), **LEARNING}


def variables(**more):
    """Return the environment of every rank: one thread, no GPU."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
            "LOGURU_LEVEL": "WARNING", "PMIX_MCA_psec": "native", **more}


class Processes:
    """Processes that run together. Their output goes to files; leaving the `with` block ends all of
    them."""

    def __init__(self, folder):
        self.folder, self.started = Path(folder), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.terminate()
        for process in self.started:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def file(self, kind, i):
        return self.folder / f"{kind}.{i}"

    def start(self, words, environment):
        i = len(self.started)
        with open(self.file("out", i), "w") as out, open(self.file("err", i), "w") as err:
            self.started.append(subprocess.Popen(words, stdout=out, stderr=err, env=environment,
                                                 preexec_fn=die_with_parent))

    def wait(self, seconds):
        """Wait until all processes have succeeded. Raise Failed with the reason of the first one
        that fails, or when `seconds` are over."""
        deadline = time.monotonic() + seconds
        while True:
            ended = [process.poll() for process in self.started]
            for i, status in enumerate(ended):
                if status:
                    raise Failed(reason(self.file("err", i).read_text(), status))
            if None not in ended:
                return
            if time.monotonic() > deadline:
                raise Failed(f"not finished after {seconds:g} s (see --timeout)")
            time.sleep(0.05)


def reason(said, status):
    """Return the most useful line of stderr: dbench's error, otherwise the last exception,
    otherwise the last line."""
    lines = [line.strip() for line in said.splitlines()]
    own = [line for line in lines if line.startswith("dbench: error: ")]
    raised = [line.split(": ", 1)[-1] if line.startswith("[rank") else line for line in lines
              if "Error" in line and "Connection closed by peer" not in line]
    found = own[0] if own else raised[-1] if raised else last_line(said)
    return f"{found} (exit status {status})"


def measure(case, model, run, hosts=None):
    """Return the milliseconds, on this machine or on `hosts`. Raise Failed with a reason."""
    with tempfile.TemporaryDirectory(prefix="dbench-peers-") as folder, \
            Processes(folder) as processes:
        measured = ours if case.ours else theirs
        return measured(case, model, run, hosts, folder, processes)


def ours(case, model, run, hosts, folder, processes):
    launcher = steps.mpirun(run.ranks)
    if hosts:
        launcher = hosts.launcher(launcher, run.ranks, folder)
    words = steps.command(folder, "run", run.spec(case, model, folder), launcher)
    processes.start(words, variables())
    processes.wait(run.timeout)
    parts = ("step_time", "time_profile")  # recording is a part of every iteration, too
    return steps.times(folder, "run", parts, run.warm_up).mean(axis=0).max().item() * 1e3


def theirs(case, model, run, hosts, folder, processes):
    settings = json.dumps(run.settings(case, model, Path(folder) / "store"))
    for rank in range(run.ranks):
        place = hosts.inside(rank * hosts.count // run.ranks) if hosts else []
        words = [*place, str(run.python), str(WORKER), settings, str(rank)]
        processes.start(words, variables(GLOO_SOCKET_IFNAME="eth0" if hosts else "lo"))
    processes.wait(run.timeout)
    return json.loads(processes.file("out", 0).read_text())["ms"]
