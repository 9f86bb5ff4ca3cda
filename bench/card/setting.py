"""Programs, Python and the card of a benchmark, and runs of the program."""

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
    """The call's time was up before a step's own was: nothing is known of the step."""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def reason(done):
    """What a program that failed said of it, in a line."""
    said = [line.strip() for line in done.stderr.splitlines() if TOLD in line]
    return said[0].split(TOLD, 1)[1] if said else last_line(done.stderr or done.stdout)


def of_cards(buses):
    """nvidia-smi's words for these alone; none, for all, where CUDA does not say which it uses."""
    return ["-i", ",".join(buses)] if buses else []


class Process:
    """A program in a session of its own, so that what it starts ends with it: nothing computes on
    the card beside what is timed next."""

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
        """Ends it and all that it started, and gives what it said: mpirun ends its ranks only where
        it is asked to."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.popen.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.popen.communicate(timeout=3)
        return "", ""

    def finish(self, seconds):
        """What it said; the status is None where it had to be ended after so many seconds."""
        if self.done is None:
            try:
                said = self.popen.communicate(timeout=max(0, seconds))
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
    build: Path              # a build's folder: dbench, bench/bench_gpu_*
    folder: Path             # of results
    ranks: int
    rounds: int
    device: str              # that DBench's runs are asked to use
    python: str              # imports torch
    seconds_of_a_side: float = 1.5
    launcher: tuple = ()     # in place of Open MPI's mpirun on this host
    deadline: float = float("inf")
    environment: dict = field(default_factory=lambda: {**os.environ, "PMIX_MCA_psec": "native"})

    @property
    def program(self):
        return self.build / "dbench"

    def bench(self, name):
        """A program of bench/, built first where this is a build of this checkout."""
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
        """Seconds until the call's end, and five for what has been begun."""
        return max(5.0, self.deadline - time.monotonic())

    def finish(self, process, most):
        """A process's end; OutOfTime, where the call's time is up before `most` seconds are. The
        status is None where they are."""
        limit = min(most, self.left())
        done = process.finish(limit)
        if done.returncode is None and limit < most:
            raise OutOfTime
        return done

    def call(self, words, most, **more):
        """A finished process, of any status; Stop where it is not there or takes too long."""
        process = Process(words, env=self.environment, **more)
        done = self.finish(process, most)
        if done.returncode is None:
            raise Stop(FAILED, f"no end of {Path(process.words[0]).name} after {most} s")
        return done

    def output(self, name, suffix=".h5"):
        path = self.folder / "runs" / f"{name}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def command(self, name, spec, *words):
        """Of a run, whose files have that name."""
        given = self.output(name, ".json")
        given.write_text(json.dumps(spec))
        return [self.program, "run", given, "--output", self.output(name), "--quiet", *words]

    def starting(self, ranks):
        """The words before a program that start so many of it."""
        if ranks == 1:
            return []
        return [*self.launcher, "-n", ranks] if self.launcher else steps.mpirun(ranks)

    def start(self, name, spec, *words, ranks=1):
        return Process([*self.starting(ranks), *self.command(name, spec, *words)],
                       env=self.environment)

    def end(self, run, most=300, expect=0):
        """Waits for a run; Stop where it was refused or failed."""
        done = self.finish(run, most)
        if done.returncode is None:
            raise Stop(FAILED, f"no end of a run after {most} s")
        if done.returncode != expect:
            raise Stop(REFUSED if done.returncode == USER else FAILED, reason(done))
        return done

    def run(self, name, spec, *words, ranks=1):
        """The result file of a run that ended well."""
        self.end(self.start(name, spec, *words, ranks=ranks))
        return self.output(name)

    @cached_property
    def seen(self):
        """The cards that CUDA sees, of which a rank takes that of its number."""
        return libraries.buses()

    def cards(self):
        """Names and the driver's version of those, by nvidia-smi, else by the driver itself; Stop
        without a card."""
        if self.seen == []:
            raise Stop(MISSING, "no card that CUDA sees")
        with contextlib.suppress(Stop):
            asked = self.call(["nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                               "--format=csv,noheader", *of_cards(self.seen)], 20)
            if asked.returncode == 0 and asked.stdout.strip():
                return [line.strip() for line in asked.stdout.strip().splitlines()]
        rows = libraries.of_driver(None, {})
        found = [words for what, _, words in rows if what.startswith("card ")]
        if not found:
            raise Stop(MISSING, rows[-1][2])
        return [f"{words}, driver {rows[0][2]}" for words in found]

    def version(self):
        """Of the program: what it says, and a digest, which tells builds with local changes apart.
        In a kit the program lies behind a script."""
        behind = self.build.parent / "programs" / "dbench"
        bits = (behind if behind.exists() else self.program).read_bytes()
        said = self.call([self.program, "version"], 30).stdout
        return [" ".join(said.split("\n")[0].split()), hashlib.sha256(bits).hexdigest()[:12]]


def nothing():
    """Of a step that needs nothing beforehand."""


@dataclass
class Step:
    """`run` gives a result, or raises Stop or OutOfTime. It takes about so many seconds; where
    steps `like` it have been run, 1.3 times what they took. `before` starts what may run beside the
    steps before it, as long as those are not timed."""
    section: str
    name: str
    seconds: float
    run: object
    timed: bool = False
    like: tuple = ()
    before: object = nothing
    without_card: bool = False  # has something to tell where there is none


def progress(text):
    print(f"bench/gpu: {text}", file=sys.stderr, flush=True)
