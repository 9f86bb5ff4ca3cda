"""What a controller of the graph looks at, and the limits within which it leaves the graph as it
is."""

import fnmatch

import numpy as np
import pandas as pd

from . import names, series
from .errors import of_a_run
from .run import Run

DISTANCE = "consensus_distance"
USUAL = {"measure": "coefficient_of_variation", "tensors": "weights", "aggregate": "median"}
REDUCE = {"mean": np.nanmean, "median": np.nanmedian, "max": np.nanmax}


def sight(run: Run) -> dict:
    """The measure, tensors and aggregate that the controller of a run's graph compares with its
    limits; empty where no such controller sets the graph."""
    kind, graph = names.graph(run), run.spec.get("graph")
    if kind == "consensus_control":
        return USUAL | {"measure": DISTANCE}
    if kind == "ada_variance" and isinstance(graph, dict):
        return {key: graph.get(key, usual) for key, usual in USUAL.items()}
    return {}


def looks_at(runs: list[Run]) -> dict:
    """What the first of their controllers looks at besides the consensus distance, else the usual
    dispersion."""
    others = (seen for seen in map(sight, runs) if seen and seen["measure"] != DISTANCE)
    return next(others, USUAL)


@of_a_run
def seen(run: Run, measure: str, tensors, aggregate: str) -> pd.DataFrame:
    """A measure over iterations: iteration, epoch, value (over the tensors, which are "all",
    "weights" or a list of patterns)."""
    if measure == DISTANCE:
        return series.spread(run, "consensus")
    if measure not in run.parameters:
        return pd.DataFrame(columns=["iteration", "epoch", "value"])
    called = list(run.tensors["name"])
    use = (series.of_weights(run) if tensors == "weights" else np.array(
        [tensors == "all" or any(fnmatch.fnmatchcase(name, pattern) for pattern in tensors)
         for name in called]))
    column = run.parameters[measure]
    value = column.rowwise(lambda v: series.quiet(REDUCE[aggregate], v[:, use], axis=1))
    return pd.DataFrame({"iteration": column.index, "epoch": series.epoch_of(run, column.index),
                         "value": value})


@of_a_run
def limits(run: Run) -> pd.DataFrame:
    """`low` and `high` over iterations: between them Ada in its variance form, or a control of the
    consensus distance, changes nothing. Empty where no such controller sets the graph."""
    graph, kind = run.spec.get("graph") or {}, names.graph(run)
    if kind == "ada_variance" and {"low", "high"} <= graph.keys():
        low, high, relative = graph["low"], graph["high"], graph.get("relative", True)
    elif kind == "consensus_control":
        target = graph.get("target")
        high = graph.get("fraction", 0.5) if target is None else target
        low = high * graph.get("slack", 0.5) if graph.get("by") == "degree" else 0.0
        relative = target is None
    else:
        return pd.DataFrame(columns=["iteration", "epoch", "low", "high"])
    found = seen(run, **sight(run))
    largest = np.ones(len(found))
    if relative:
        at, value = found["iteration"].to_numpy(), found["value"].to_numpy(dtype=float)
        checked = (at + 1) % every(run, graph.get("every", {"iterations": 1})) == 0
        largest = np.maximum.accumulate(np.where(checked & np.isfinite(value), value, 0.0))
        largest = np.where(largest > 0, largest, np.nan)
    return found[["iteration", "epoch"]].assign(low=low * largest, high=high * largest)


def every(run: Run, told) -> int:
    """A duration of the spec in iterations."""
    if not isinstance(told, dict):
        return max(1, int(told))
    if "iterations" in told:
        return max(1, int(told["iterations"]))
    share = float(run.iterations["epoch"][0]) if len(run.iterations) else 1.0
    return max(1, round(float(told.get("epochs", 1)) / share))
