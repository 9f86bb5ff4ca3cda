"""The setting of bench/gpu: programs, Python, GPUs, time limit; and the processes that it
starts."""

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import steps

from . import libraries
from .journal import FAILED, MISSING, REFUSED, Stop

PREEMPTED, USER, NO_CARD = 75, 2, 77
TOLD = "dbench: error: "


class OutOfTime(Exception):
    """The call's time ended before the step's own time limit, so the step has no result."""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def reason(done):
    """Return the error message of a program that failed, as one line."""
    said = [line.strip() for line in done.stderr.splitlines() if TOLD in line]
    return said[0].split(TOLD, 1)[1] if said else last_line(done.stderr or done.stdout)


def of_cards(buses):
    """Return nvidia-smi's options that select these GPUs, or none (all GPUs) if CUDA does not say
    which ones it uses."""
    return ["-i", ",".join(buses)] if buses else []


class Process:
    """A program in its own process session, so that everything it starts ends with it and nothing
    else uses the GPU when the next step is timed."""

    def __init__(self, words, **more):
        self.words, self.done = [str(word) for word in words], None
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                 "stderr": subprocess.PIPE, **more}
        try:
            self.popen = subprocess.Popen(self.words, text=True, start_new_session=True, **pipes)
        except OSError as error:
            raise Stop(MISSING, f"no {self.words[0]} ({error.strerror})") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.done is None:
            self.end()

    def end(self):
        """End the program and everything that it started; return its output. SIGTERM comes first,
        because mpirun ends its ranks only then."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.popen.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.popen.communicate(timeout=3)
        return "", ""

    def finish(self, seconds):
        """Return the completed process; its status is None if it was ended after `seconds`."""
        if self.done is None:
            try:
                limit = None if seconds == float("inf") else max(0, seconds)
                said = self.popen.communicate(timeout=limit)
                status = self.popen.returncode
            except subprocess.TimeoutExpired:
                said, status = self.end(), None
            except BaseException:
                self.end()
                raise
            self.done = subprocess.CompletedProcess(self.words, status, *said)
        return self.done


@dataclass
class Setting:
    """The arguments of a call of bench/gpu, with methods that start programs."""
    build: Path              # a build's folder, with dbench and bench/bench_gpu_*
    folder: Path             # for results
    ranks: int
    rounds: int
    device: str              # /device in the specs of DBench's runs
    python: str              # a Python that can import torch
    seconds_of_a_side: float = 1.5
    launcher: tuple = ()     # replaces Open MPI's mpirun on this host
    study: Path = steps.ROOT / "configs" / "cifar10" / "one-gpu.json"
    resume: bool = False     # runs of the study continue where an earlier call ended
    deadline: float = float("inf")
    environment: dict = field(default_factory=lambda: {**os.environ, "PMIX_MCA_psec": "native"})

    @property
    def program(self):
        return self.build / "dbench"

    def bench(self, name):
        """Return a program of bench/; build it first if the build belongs to this checkout."""
        path, cache = self.build / "bench" / f"bench_{name}", self.build / "CMakeCache.txt"
        home = re.search("^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache.read_text(), re.M) \
            if cache.exists() else None
        if home and Path(home.group(1)) == steps.ROOT:
            done = self.call(["cmake", "--build", self.build, "--target", path.name], 900)
            if done.returncode:
                raise Stop(FAILED, f"{path.name} could not be built: {last_line(done.stdout)}")
        if not path.exists():
            raise Stop(MISSING, f"no {path}")
        return path

    def left(self):
        """Return the seconds until the call's end, but at least five, so that a step can finish."""
        return max(5.0, self.deadline - time.monotonic())

    def finish(self, process, most):
        """Wait for a process at most `most` seconds; its status is None if it took longer. Raise
        OutOfTime if the call's time ends before."""
        limit = min(most, self.left())
        done = process.finish(limit)
        if done.returncode is None and limit < most:
            raise OutOfTime
        return done

    def call(self, words, most, **more):
        """Run a program and return the finished process, whatever its status. Raise Stop if the
        program does not exist or takes too long."""
        process = Process(words, env=self.environment, **more)
        done = self.finish(process, most)
        if done.returncode is None:
            raise Stop(FAILED, f"{Path(process.words[0]).name} did not end within {most} s")
        return done

    def output(self, name, suffix=".h5"):
        path = self.folder / "runs" / f"{name}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def command(self, name, spec, *words):
        """Write the spec of a run and return its command; `name` names its files."""
        given = self.output(name, ".json")
        given.write_text(json.dumps(spec))
        return [self.program, "run", given, "--output", self.output(name), "--quiet", *words]

    def starting(self, ranks):
        """Return the launcher's words for this number of ranks."""
        if ranks == 1:
            return []
        return [*self.launcher, "-n", ranks] if self.launcher else steps.mpirun(ranks)

    def start(self, name, spec, *words, ranks=1):
        return Process([*self.starting(ranks), *self.command(name, spec, *words)],
                       env=self.environment)

    def end(self, run, most=300, expect=0):
        """Wait for a run. Raise Stop if it was refused or failed."""
        done = self.finish(run, most)
        if done.returncode is None:
            raise Stop(FAILED, f"a run did not end within {most} s")
        if done.returncode != expect:
            raise Stop(REFUSED if done.returncode == USER else FAILED, reason(done))
        return done

    def run(self, name, spec, *words, ranks=1, most=300):
        """Run a spec and return the path of its result file. Raise Stop if it fails, or takes more
        than `most` seconds."""
        self.end(self.start(name, spec, *words, ranks=ranks), most)
        return self.output(name)

    @cached_property
    def seen(self):
        """The bus ids of the GPUs that CUDA sees; a rank uses the GPU with its number."""
        return libraries.buses()

    def cards(self):
        """Return descriptions of these GPUs with the driver's version, from nvidia-smi or otherwise
        from the driver. Raise Stop if there is no GPU."""
        if self.seen == []:
            raise Stop(MISSING, "CUDA sees no GPU")
        with contextlib.suppress(Stop):
            asked = self.call(["nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                               "--format=csv,noheader", *of_cards(self.seen)], 20)
            if asked.returncode == 0 and asked.stdout.strip():
                return [line.strip() for line in asked.stdout.strip().splitlines()]
        rows = libraries.of_driver(None, {})
        found = [words for what, _, words in rows if what.startswith("GPU ")]
        if not found:
            raise Stop(MISSING, rows[-1][2])
        return [f"{words}, driver {rows[0][2]}" for words in found]

    def version(self):
        """Return the program's version and a digest, which distinguishes builds with local changes.
        In a kit, build/dbench is a script and the program is in programs/."""
        behind = self.build.parent / "programs" / "dbench"
        bits = (behind if behind.exists() else self.program).read_bytes()
        said = self.call([self.program, "version"], 30).stdout
        return [" ".join(said.split("\n")[0].split()), hashlib.sha256(bits).hexdigest()[:12]]


def nothing():
    """Do nothing: the default of Step.before."""


@dataclass
class Step:
    """A step of bench/gpu. `run` returns a result, or raises Stop or OutOfTime. It is expected to
    take `seconds`, or 1.3 times the median time of the steps `like` it once these have run.
    `before` starts processes that may run concurrently with earlier, untimed steps."""
    section: str
    name: str
    seconds: float
    run: object
    timed: bool = False
    like: tuple = ()
    before: object = nothing
    without_card: bool = False  # the step is useful on a machine without a GPU


def progress(text):
    print(f"bench/gpu: {text}", file=sys.stderr, flush=True)
