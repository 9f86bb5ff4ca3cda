"""Which method reaches an accuracy first on a cluster whose step times were predicted: iterations
of finished runs times the step time of `dbench predict --json`."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..basics.errors import AnalysisError
from ..naming import differences, names
from ..quantities.reaching import first_reached, interval_note
from ..reading.run import Run
from .family import grouped
from .runs import Study, belongs

# Entries of a spec, beside graph and order, on which the time of a step depends. The algorithm and
# the message count only for runs on a graph, because a prediction has one all-reduce for all.
TIMED = ("/model", "/data/batch_size", "/precision", "/compute")
OF_EXCHANGE = ("base", "period", "fragments", "delay", "form", "gpus_per_node")


@dataclass(frozen=True)
class Step:
    """The predicted mean step time of a graph in an order. `keys` are the keys of the graph that
    its name in the prediction has: {"k": "5"} of base_k:k=5."""

    graph: str
    keys: dict[str, str]
    order: str
    seconds: float


@dataclass(frozen=True)
class Cluster:
    """A prediction: the ranks, and step times."""

    label: str
    ranks: int
    steps: list[Step]

    def seconds(self, run: Run) -> float | None:
        """Return the step time of the run's exchange; None if it was not predicted. Of several
        predictions with keys of the run's graph, the one with most of them counts."""
        graph, order = key(run)
        spec = run.spec.get("graph")
        given = spec if isinstance(spec, dict) else {}
        fitting = [step for step in self.steps if (step.graph, step.order) == (graph, order)
                   and all(written(given.get(name)) == value for name, value in step.keys.items())]
        return max(fitting, key=lambda step: len(step.keys)).seconds if fitting else None


@dataclass(frozen=True)
class Reached:
    """A method in a cell of a study: the iterations after which each seed's mean model first
    reached the target (None: it did not), and the seconds on each cluster.

    study     its folder, because two studies may have the same name
    seconds   {label of a cluster: mean over the seeds}; only clusters that have the method, and
              only if every seed reached the target
    lost      seeds whose run is not complete: they count as seeds that did not reach the target
    """

    study: str
    cell: str
    method: str
    replicas: int
    iterations: list[int | None]
    seconds: dict[str, float]
    lost: int = 0

    @property
    def always(self) -> bool:
        return None not in self.iterations

    @property
    def mean(self) -> float:
        """Return the mean iterations; NaN if a seed did not reach the target."""
        return float(np.mean([float(n) for n in self.iterations if n is not None])
                     if self.always else "nan")


def cluster(path: Path) -> Cluster:
    """Read a prediction. Its label is the name of the file without suffix."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        steps = []
        for each in found["graphs"]:
            graph, *words = re.split(r":(?=\w+=)", each["name"])
            keys = dict(word.split("=", 1) for word in words)
            steps.append(Step(graph, keys, each["order"], float(each["step_time_mean"])))
        return Cluster(path.stem, int(found["ranks"]), steps)
    except OSError as error:
        raise AnalysisError(path, f"cannot be read: {error.strerror}",
                            "name a file with the output of `dbench predict --json`") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AnalysisError(path, "is not a prediction",
                            "write one with `dbench predict SPEC --json > FILE`") from error


def written(value) -> str:
    """Return a value of a spec as a prediction's name has it."""
    return value if isinstance(value, str) else json.dumps(value)


def key(run: Run) -> tuple[str, str]:
    """Return the graph and the order under which a prediction lists the run's exchange."""
    if names.algorithm(run) == "centralized":
        return "all-reduce", "centralized"
    return names.graph(run), names.order(run)


def timed(run: Run) -> dict[str, str]:
    """Return the entries of a run's spec that a prediction of its step time must share."""
    spec = differences.flattened(run.spec)
    found = {pointer: value for pointer, value in spec.items() if belongs(pointer, TIMED)}
    if names.algorithm(run) != "centralized":
        found |= {"/algorithm/type": names.algorithm(run), "/message": names.message(run)}
        found |= {f"/algorithm/{name}": spec.get(f"/algorithm/{name}", "-")
                  for name in OF_EXCHANGE}
    return found


def check(studies: Sequence[Study], clusters: Sequence[Cluster]):
    """Raise AnalysisError if a prediction, which is that of one spec, would be used for runs that
    differ in more than graph and order."""
    for each in clusters:
        users = [timed(run) for study in studies for run in study.finals
                 if run.replicas == each.ranks and each.seconds(run) is not None]
        for pointer in dict.fromkeys(p for user in users for p in user):
            values = dict.fromkeys(user[pointer] for user in users if pointer in user)
            if len(values) > 1:
                raise AnalysisError(
                    f"--prediction {each.label}", f"the runs differ in {pointer}: "
                    f"{', '.join(values)}, and the step times are those of one spec",
                    "select the runs of one value with --where")


def reached(study: Study, clusters: Sequence[Cluster], metric: str,
            target: float) -> list[Reached]:
    """Return when each method of each cell reaches the target."""
    found = []
    for cell, methods in grouped(study).items():
        for method, runs in methods.items():
            done = [first_reached(run, metric, target) if run.status == "complete" else None
                    for run in runs]
            one = Reached(str(study.folder), cell, method, runs[0].replicas, done, {},
                          sum(run.status != "complete" for run in runs))
            for each in clusters:
                step = each.seconds(runs[0])
                if one.always and each.ranks == one.replicas and step is not None:
                    one.seconds[each.label] = one.mean * step
            found.append(one)
    return found


def note(study: Study) -> str:
    """Return a warning if runs of a cell were evaluated at different intervals; "" if not."""
    notes = (interval_note([run for runs in methods.values() for run in runs])
             for methods in grouped(study).values())
    return next(filter(None, notes), "")


def fastest(found: Sequence[Reached], label: str) -> Reached | None:
    """Return the method that reaches the target first on a cluster; None if none does."""
    there = [one for one in found if label in one.seconds]
    return min(there, key=lambda one: one.seconds[label]) if there else None
