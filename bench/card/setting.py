"""Programs, Python and the card of a benchmark, and runs of the program."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import steps

from .journal import FAILED, MISSING, REFUSED, Stop

PREEMPTED, USER, NO_CARD = 75, 2, 77
TOLD = "dbench: error: "


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def reason(done):
    """What a program that failed said of it, in a line."""
    said = [line.strip() for line in done.stderr.splitlines() if TOLD in line]
    return said[0].split(TOLD, 1)[1] if said else last_line(done.stderr or done.stdout)


def call(words, seconds, **more):
    """A finished process, of any status; Stop where it is not there or takes too long."""
    words = [str(word) for word in words]
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=seconds, **more)
    except FileNotFoundError as error:
        raise Stop(MISSING, f"no {words[0]}") from error
    except subprocess.TimeoutExpired as error:
        raise Stop(FAILED, f"no end of {Path(words[0]).name} after {seconds:.0f} s") from error


@dataclass
class Setting:
    build: Path              # a build's folder: dbench, bench/bench_gpu_*
    folder: Path             # of results
    ranks: int
    rounds: int
    device: str              # that DBench's runs are asked to use
    python: str              # imports torch
    seconds_of_a_side: float = 2
    deadline: float = float("inf")
    environment: dict = field(default_factory=lambda: {**os.environ, "PMIX_MCA_psec": "native"})

    @property
    def program(self):
        return self.build / "dbench"

    def bench(self, name):
        """A program of bench/, built where this is a build's folder."""
        path = self.build / "bench" / f"bench_{name}"
        if (self.build / "CMakeCache.txt").exists() and shutil.which("cmake"):
            done = call(["cmake", "--build", self.build, "--target", path.name], 900)
            if done.returncode:
                raise Stop(FAILED, f"{path.name} could not be built: {last_line(done.stdout)}")
        if not path.exists():
            raise Stop(MISSING, f"no {path}")
        return path

    def seconds(self, most):
        """Of time for a command that may take so many."""
        return max(5.0, min(most, self.deadline - time.monotonic()))

    def run(self, name, spec, *words, ranks=1, most=300, expect=(0,)):
        """The result file of a run; Stop where it was refused or failed."""
        output = self.folder / "runs" / f"{name}.h5"
        output.parent.mkdir(parents=True, exist_ok=True)
        given = output.with_suffix(".json")
        given.write_text(json.dumps(spec))
        launcher = steps.mpirun(ranks) if ranks > 1 else []
        done = call([*launcher, self.program, "run", given, "--output", output, "--quiet", *words],
                    self.seconds(most), env=self.environment)
        if done.returncode not in expect:
            raise Stop(REFUSED if done.returncode == USER else FAILED, reason(done))
        return output

    def card(self):
        """The cards' names and the driver's version, by nvidia-smi; Stop without one."""
        asked = call(["nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                      "--format=csv,noheader"], 60)
        if asked.returncode or not asked.stdout.strip():
            raise Stop(MISSING, f"no card ({last_line(asked.stdout + asked.stderr)})")
        return [line.strip() for line in asked.stdout.strip().splitlines()]


@dataclass
class Step:
    """`run` gives a result, or raises Stop; it takes about so many seconds."""
    name: str
    seconds: float
    run: object


def progress(text):
    print(f"bench/gpu: {text}", file=sys.stderr, flush=True)
