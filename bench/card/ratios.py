"""Milliseconds of an iteration of DBench and of PyTorch, in turns A B A B: cases and rounds."""

import contextlib
import json
import select
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import steps

from .journal import FAILED, MISSING, OK, Stop
from .setting import Setting, Step, last_line, progress

WORKER = Path(__file__).with_name("worker.py")
LEARNING = {"lr": 0.01, "momentum": 0.9}
SMALL = {"type": "mlp", "hidden": [32, 64]}  # as in bench/scale: 101,098 parameters
FIRST, MOST = 20, 4000  # iterations of a first run, and at most


@dataclass
class Contender:
    """One side of a case: PyTorch's by its name in worker.py, or a run of DBench."""
    name: str
    spec: dict | None = None
    settings: dict = field(default_factory=dict)


def spec(setting, model, replicas, batch, recorded=False, precision="float32"):
    return {"model": model, "replicas": replicas, "device": setting.device, "precision": precision,
            "implementation": "D_ring" if replicas > 1 else "C_complete",
            "stacking": "auto" if replicas > 1 else "off",
            "data": {"type": "shapes", "train": max(2048, replicas * batch), "test": 10,
                     "batch_size": batch},
            "optimizer": {"type": "sgd", **LEARNING},
            **({} if recorded else {"profile": steps.NOTHING_RECORDED}),
            "evaluate": {"every": None, "replicas": 1}}


def cases(setting):
    """By name; of each the sides, which take turns."""
    def dbench(name, *words, **more):
        return Contender(name, spec(setting, *words, **more))

    def torch(name, batch, **more):
        return Contender(name, None, {"model": "resnet20", "batch": batch, **more})

    def others(batch):
        return [torch(name, batch) for name in ("eager", "graph", "compile")]

    return {
        "ResNet-20, batch 32": [dbench("dbench", "resnet20", 1, 32), *others(32)],
        "ResNet-20, batch 128": [dbench("dbench", "resnet20", 1, 128), torch("ddp", 128)],
        "ResNet-20, batch 512": [dbench("dbench", "resnet20", 1, 512), *others(512),
                                 dbench("dbench, 16 replicas of 32", "resnet20", 16, 32),
                                 torch("ensemble", 32, replicas=16)],
        "scale MLP": [dbench("dbench, 16 replicas", SMALL, 16, 8),
                      dbench("dbench, 1008 replicas", SMALL, 1008, 8)],
        "recording, 16 replicas": [
            dbench("dbench, nothing", "resnet20", 16, 32),
            dbench("dbench, everything", "resnet20", 16, 32, recorded=True)],
    }


class Worker:
    """PyTorch's process of a case. Stop where it cannot start, or ends."""

    def __init__(self, setting, settings):
        self.setting = setting
        self.folder = tempfile.TemporaryDirectory()
        self.errors = Path(self.folder.name) / "errors"
        given = {**settings, "device": setting.device, "store": f"{self.folder.name}/store"}
        environment = {**setting.environment, "OMP_NUM_THREADS": "1",
                       "TORCHINDUCTOR_CACHE_DIR": str(setting.folder / "compiled")}
        try:
            with open(self.errors, "w") as errors:
                self.process = subprocess.Popen(
                    [setting.python, str(WORKER), json.dumps(given)], env=environment, text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise Stop(MISSING, f"{setting.python}: {error.strerror}") from error
        self.versions = self.answer()

    def answer(self):
        seconds = self.setting.seconds(300)
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            self.process.kill()
            raise Stop(FAILED, f"no answer of PyTorch's process after {seconds:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            said = last_line(self.errors.read_text())
            raise Stop(MISSING if "No module named" in said else FAILED,
                       f"PyTorch's process ended ({said}, status {status})")
        return json.loads(line)

    def ask(self, **words):
        with contextlib.suppress(BrokenPipeError):  # its last words are read below
            self.process.stdin.write(json.dumps(words) + "\n")
            self.process.stdin.flush()
        found = self.answer()
        if "failed" in found:
            raise Stop(FAILED, found["failed"])
        return found

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()


def milliseconds(setting, name, given, iterations, ranks=1):
    """Of an iteration of DBench: seconds between the ends of two evaluations, of ten samples each,
    over the iterations between. The first half of the run warms it up."""
    half = max(3, iterations)
    run = {**given, "length": {"iterations": 2 * half},
           "evaluate": {"every": {"iterations": half}, "replicas": 1}}
    path = setting.run(name, run, "--overwrite", ranks=ranks)
    with steps.h5py.File(path) as file:
        elapsed = file["evaluations/elapsed"][:]
    return float(elapsed[2] - elapsed[1]) / half * 1e3


class Case:
    """A case's rounds: round 0 tells how many iterations are as long as wanted, and is not
    counted."""

    def __init__(self, setting: Setting, name, sides, held):
        self.setting, self.name, self.sides, self.held = setting, name, sides, held
        self.workers = {}

    def seen(self, side):
        """Milliseconds of the rounds so far, the first one's last of all."""
        found = [self.held(k).get(side.name) for k in range(1, self.setting.rounds + 1)]
        return [one["ms"] for one in [*found, self.held(0).get(side.name)] if one and "ms" in one]

    def measure(self, side):
        before = self.seen(side)
        seconds = self.setting.seconds_of_a_side
        if side.spec is not None:
            count = FIRST if not before else int(seconds * 1e3 / before[0])
            return milliseconds(self.setting, "timed", side.spec,
                                max(5, min(count, MOST)))
        key = json.dumps(side.settings)
        if key not in self.workers:
            self.workers[key] = Worker(self.setting, side.settings)
        try:
            return self.workers[key].ask(do=side.name, seconds=seconds if before else 0.2)["ms"]
        except Stop:
            if self.workers[key].process.poll() is not None:
                del self.workers[key]
            raise

    def round(self, number):
        """Of every side {"ms"} or why there is none; who had none before is not tried again."""
        result = {"status": OK}
        first = self.held(0)
        for side in self.sides:
            if number and "ms" not in first.get(side.name, {}):
                result[side.name] = first.get(side.name, {})
                continue
            progress(f"{self.name}, {'first run' if number == 0 else f'round {number}'}: "
                     f"{side.name}")
            try:
                result[side.name] = {"ms": self.measure(side)}
            except Stop as stop:
                if time.monotonic() > self.setting.deadline - 1:
                    raise  # cut short: the round is run again
                result[side.name] = stop.result()
        if not any("ms" in result[side.name] for side in self.sides):
            result["status"] = first.get("status", FAILED) if number else next(
                (found["status"] for found in result.values()
                 if isinstance(found, dict)), FAILED)
        return result

    def close(self):
        for worker in self.workers.values():
            worker.close()
        self.workers = {}


def ratio_steps(setting, journal):
    for name, sides in cases(setting).items():
        def held(number, name=name):
            return journal.steps("ratios").get(f"{name} / {number}", {})
        case = Case(setting, name, sides, held)
        try:
            for number in range(setting.rounds + 1):
                yield Step(f"{name} / {number}", 12 * len(sides) + (60 if number == 0 else 0),
                           lambda case=case, number=number: case.round(number))
        finally:
            case.close()
