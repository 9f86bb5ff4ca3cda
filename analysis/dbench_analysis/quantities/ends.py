"""The last evaluation of each run: the mean model, and the range over the local models."""

from dataclasses import dataclass

import numpy as np

from ..basics.formatting import counted
from ..naming.differences import by_setting
from ..reading.run import Run
from . import fields, series


@dataclass(frozen=True)
class End:
    """The last evaluation of a run: the value of the mean model, and the lowest, median and highest
    value of the evaluated local models."""

    run: Run
    mean: float
    low: float
    median: float
    high: float


def ends(runs: list[Run]) -> tuple[list[End], str]:
    """Return (ends, "accuracy" or "loss") for the runs that have a finite last evaluation; the loss
    is used if no run has accuracies."""
    kinds = [series.performance(run)[1] for run in runs]
    kind = "accuracy" if "accuracy" in kinds else "loss"
    found = []
    for run in runs:
        value = {c: fields.last(run, kind, c) for c in ("mean", "min", "median", "max")}
        if np.isfinite(value["mean"]) or np.isfinite(value["median"]):
            found.append(End(run, value["mean"], value["min"], value["median"], value["max"]))
    return found, kind


def degree(runs: list[Run]) -> float:
    """Return the mean degree of the runs of a setting; NaN if it was not recorded."""
    return float(np.mean([fields.mean(run, "degree") for run in runs]))


def without_end(runs: list[Run], each: bool = False) -> str:
    """Return how many runs have no finite last evaluation, in words; "" if all have one."""
    found, kind = ends(runs)
    lost = len(runs) - len(found)
    return (f"{lost} of {counted(len(runs), 'run')} left out of the figure: no finite {kind} in "
            "the last evaluation") if lost else ""


def without_end_or_degree(runs: list[Run], each: bool = False) -> str:
    """Return how many runs have no finite last evaluation, and of how many of the others the
    setting (`each`: the run) has no finite degree, in words; "" if there are none."""
    kept = [end.run for end in ends(runs)[0]]
    settings = [[run] for run in kept] if each else by_setting(kept)
    lost = sum(len(setting) for setting in settings if not np.isfinite(degree(setting)))
    more = (f"{lost} of {counted(len(runs), 'run')} left out of the figure: a run of the setting "
            "recorded no degree") if lost else ""
    return "; ".join(text for text in (without_end(runs), more) if text)


def over_seeds(found: list[End]) -> tuple[float, float, float]:
    """Return (lowest, mean of the medians, highest) of the local models over all seeds."""
    return (min(end.low for end in found), float(np.mean([end.median for end in found])),
            max(end.high for end in found))
