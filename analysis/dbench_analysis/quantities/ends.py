"""The last evaluation of each run: the mean model, and the range over the local models."""

from dataclasses import dataclass

import numpy as np

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


def over_seeds(found: list[End]) -> tuple[float, float, float]:
    """Return (lowest, mean of the medians, highest) of the local models over all seeds."""
    return (min(end.low for end in found), float(np.mean([end.median for end in found])),
            max(end.high for end in found))
