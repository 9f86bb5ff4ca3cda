"""Measure the milliseconds of an iteration of DBench and of PyTorch, alternating (A B A B)."""

import contextlib
import json
import statistics
from dataclasses import dataclass, field

import steps

from .busy import Busy
from .journal import OK, Stop, sides_of
from .setting import OutOfTime, Step, progress
from .torch_process import compilation

LEARNING = {"lr": 0.01, "momentum": 0.9}
SMALL = {"type": "mlp", "hidden": [32, 64]}  # 101,098 parameters, as in bench/scale
LEAST, MOST = 3, 4000  # bounds of the number of timed iterations of a run
OF_32, OF_128, OF_512, SCALE, IN_TF32, IN_BFLOAT16 = CASES = (
    "ResNet-20, batch 32", "ResNet-20, batch 128", "ResNet-20, 512 samples", "scale MLP",
    "ResNet-20, batch 128, TF32", "ResNet-20, batch 128, bfloat16")


@dataclass
class Contender:
    """One side of a case: a request to worker.py (by its name) or a run of DBench (`spec`). `first`
    is the number of iterations of the first run, about a second on a GPU."""
    name: str
    spec: dict | None = None
    settings: dict = field(default_factory=dict)
    first: int = 0


def spec(setting, model, replicas, batch, recorded=False, precision="float32",
         compute="precision"):
    return {"model": model, "replicas": replicas, "device": setting.device, "precision": precision,
            "compute": compute,
            "implementation": "D_ring" if replicas > 1 else "C_complete",
            "stacking": "auto" if replicas > 1 else "off",
            "data": {"type": "shapes", "train": max(2048, replicas * batch), "test": 10,
                     "batch_size": batch},
            "optimizer": {"type": "sgd", **LEARNING},
            **({} if recorded else {"profile": steps.NOTHING_RECORDED}),
            "evaluate": {"every": None, "replicas": 1}}


def sides_of_cases(setting):
    """Return the sides of each case by its name. Sides alternate in this order; sides whose ratio
    matters are neighbours."""
    def dbench(name, first, *words, **more):
        return Contender(name, spec(setting, *words, **more), first=first)

    def torch(name, batch, **more):
        return Contender(name, None, {"model": "resnet20", "batch": batch, **more})

    def others(batch):
        return [torch(name, batch) for name in ("eager", "graph", "compile")]

    def in_mode(compute):
        ours = dbench("dbench", 600, "resnet20", 1, 128, compute=compute)
        return [ours, *(torch(name, 128, compute=compute) for name in ("eager", "graph"))]

    return {
        OF_32: [dbench("dbench", 800, "resnet20", 1, 32), *others(32)],
        OF_128: [dbench("dbench", 400, "resnet20", 1, 128), torch("ddp", 128)],
        OF_512: [dbench("dbench", 150, "resnet20", 1, 512), *others(512),
                 dbench("dbench, 16 replicas of 32", 60, "resnet20", 16, 32),
                 dbench("dbench, 16 replicas, all recorded", 60, "resnet20", 16, 32,
                        recorded=True),
                 torch("ensemble", 32, replicas=16)],
        SCALE: [dbench("dbench, 16 replicas", 1200, SMALL, 16, 8),
                dbench("dbench, 1008 replicas", 150, SMALL, 1008, 8)],
        # The CPU has no TF32: there, the test of this benchmark runs the case in float32.
        IN_TF32: in_mode("tf32" if setting.device == "cuda" else "precision"),
        IN_BFLOAT16: in_mode("bfloat16"),
    }


def how(file):
    """Return how a run computed its replicas (stacking, capture, resident data), and why some
    passes were not captured."""
    told = json.loads(file["provenance"][()])["environment"]
    events = zip(file["events/kind"].asstr()[:], file["events/text"].asstr()[:])
    return {"stacking": told["stacking"], "capture": told["capture"],
            "resident": told["resident"],
            "uncaptured": [text for kind, text in events if kind == "capture"]}


def milliseconds(setting, name, given, iterations, ranks=1, watch=None):
    """Return the milliseconds of an iteration of DBench: the seconds between the ends of two
    evaluations (of ten samples each), divided by the iterations between them. The first half of the
    run is the warm-up. If `watch` samples the GPU, its samples of the second half are added; the
    second half ends when the result file is last written."""
    half = max(LEAST, min(iterations, MOST))
    run = {**given, "length": {"iterations": 2 * half},
           "evaluate": {"every": {"iterations": half}, "replicas": 1}}
    done = setting.end(setting.start(name, run, "--overwrite", ranks=ranks))
    path = setting.output(name)
    with steps.h5py.File(path) as file:
        elapsed = file["evaluations/elapsed"][:]
        seconds = float(elapsed[2] - elapsed[1])
        found = {"ms": seconds / half * 1e3, "iterations": half, **how(file)}
    if done.stderr.strip():
        found["warnings"] = done.stderr.strip().splitlines()[-3:]
    if watch:
        end = path.stat().st_mtime
        found["busy"] = watch.between(end - seconds, end)
    return found


def alike(side):
    """Return a key that is equal for sides that compute their replicas in the same way."""
    return json.dumps([side.spec[key] for key in ("model", "replicas", "data")])


class Case:
    """The rounds of one case."""

    def __init__(self, bench, name, sides):
        self.bench, self.name, self.sides = bench, name, sides
        self.given_up = {}  # sides that failed in this call, with the reason
        # The stacking that DBench chose in the first run of equal sides. All later runs use it, so
        # that sides and rounds do not differ in it.
        self.ways = {alike(side): one["stacking"].split()[0] for side in sides
                     for one in self.held(side) if side.spec}

    def held(self, side):
        """Return the results of a side in all earlier rounds."""
        rounds = [self.bench.journal.steps("ratios").get(f"{self.name} / {k}", {})
                  for k in range(1, self.bench.setting.rounds + 1)]
        return [one[side.name] for one in rounds if "ms" in one.get(side.name, {})]

    def of_dbench(self, side, number):
        setting, seconds = self.bench.setting, self.bench.setting.seconds_of_a_side
        given = {**side.spec, "stacking": self.ways.get(alike(side), side.spec["stacking"])}
        before = [one["ms"] for one in self.held(side)]
        count = side.first if setting.device == "cuda" else LEAST
        if before:
            count = int(seconds * 1e3 / statistics.median(before))
        with contextlib.ExitStack() as stack:
            watch = None
            if self.name == OF_32 and number <= 2:
                with contextlib.suppress(Stop):  # the profile's step reports what is missing
                    watch = stack.enter_context(Busy(setting))
            found = milliseconds(setting, "timed", given, count, watch=watch)
            if found["ms"] * found["iterations"] < seconds / 3 * 1e3 and count < MOST:  # too short
                found = milliseconds(setting, "timed", given, int(seconds * 1e3 / found["ms"]),
                                     watch=watch)
        self.ways.setdefault(alike(side), found["stacking"].split()[0])
        return {**found, "asked": given["stacking"]}

    def measure(self, side, number):
        if side.spec is not None:
            return self.of_dbench(side, number)
        worker = self.bench.workers.of(side.settings)
        return worker.milliseconds(side.name, self.bench.setting.seconds_of_a_side)

    def round(self, number):
        """Measure all sides. The result has {"ms"} or a reason for each side; it is partial if the
        time ran out. A side that fails is not tried again in this call."""
        held = sides_of(self.bench.journal.steps("ratios").get(f"{self.name} / {number}", {}))
        result = {name: one for name, one in held.items() if "ms" in one}
        for side in self.sides:
            if side.name in result:
                continue
            try:
                if side.name not in self.given_up:
                    progress(f"{self.name}, round {number}: {side.name}")
                    result[side.name] = self.measure(side, number)
                    continue
            except OutOfTime:
                if not result:
                    raise
                return {"status": OK, **result, "partial": True}
            except Stop as stop:
                self.given_up[side.name] = stop.result()
            tries = held.get(side.name, {}).get("tries", 0) + 1
            result[side.name] = {**self.given_up[side.name], "tries": tries}
        known = any("ms" in one for one in result.values())
        return {"status": OK if known else result[self.sides[0].name]["status"], **result}

    def before(self):
        """Make PyTorch compile the model in the background, concurrently with untimed steps, so
        that the first round finds it compiled."""
        if self.bench.setting.device != "cuda":
            return
        for side in self.sides:
            if side.name == "compile":
                self.bench.beside.start(
                    f"compile {self.name}",
                    lambda side=side: compilation(self.bench.setting, side.settings))


# Seconds of a round, and the additional seconds of the first round, in which PyTorch starts and
# compiles.
TAKES = {OF_32: (16, 34), OF_128: (11, 11), OF_512: (38, 47), SCALE: (20, 0), IN_TF32: (12, 8),
         IN_BFLOAT16: (12, 8)}


def rounds(bench, case):
    """Yield the steps of a case, one per round."""
    made = Case(bench, case, sides_of_cases(bench.setting)[case])
    usual, more = TAKES[case]
    for number in range(1, bench.setting.rounds + 1):
        yield Step("ratios", f"{case} / {number}", usual + (more if number == 1 else 0),
                   lambda number=number: made.round(number), timed=True,
                   like=tuple(f"{case} / {k}" for k in range(2, number)),
                   before=made.before)


def in_turn(bench, *cases):
    """Return the steps of several cases, with rounds of different cases alternating."""
    return [step for steps_of_a_round in zip(*(rounds(bench, case) for case in cases))
            for step in steps_of_a_round]
