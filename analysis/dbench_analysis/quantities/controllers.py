"""The measure of a graph's controller, and the limits within which it keeps the graph."""

import fnmatch
import math

import numpy as np
import pandas as pd

from ..basics.errors import names_the_run
from ..naming import names
from ..reading.run import Run
from . import fields, series

DISTANCE = "consensus_distance"
USUAL = {"measure": "coefficient_of_variation", "tensors": "weights", "aggregate": "median"}
REDUCE = {"mean": np.nanmean, "median": np.nanmedian, "max": np.nanmax}


def watched(run: Run) -> dict:
    """Return the measure, tensors and aggregate that the controller of a run's graph compares with
    its limits; empty if the graph has no such controller."""
    kind, graph = names.graph(run), run.spec.get("graph")
    if kind == "consensus_control":
        return USUAL | {"measure": DISTANCE}
    if kind == "ada_variance" and isinstance(graph, dict):
        return {key: graph.get(key, usual) for key, usual in USUAL.items()}
    return {}


def first_watched(runs: list[Run]) -> dict:
    """Return what the first controller of these runs measures, except for the consensus distance;
    the usual dispersion if there is none."""
    others = (one for one in map(watched, runs) if one and one["measure"] != DISTANCE)
    return next(others, USUAL)


@names_the_run
def seen(run: Run, measure: str, tensors, aggregate: str) -> pd.DataFrame:
    """Return a measure over iterations: iteration, epoch, value (aggregated over `tensors`: "all",
    "weights" or a list of patterns)."""
    if measure == DISTANCE:
        return series.spread(run, "consensus")
    if measure not in run.parameters:
        return pd.DataFrame(columns=["iteration", "epoch", "value"])
    called = list(run.tensors["name"])
    use = (series.weight_mask(run) if tensors == "weights" else np.array(
        [tensors == "all" or any(fnmatch.fnmatchcase(name, pattern) for pattern in tensors)
         for name in called]))
    column = run.parameters[measure]
    value = column.rowwise(lambda v: series.nan_safe(REDUCE[aggregate], v[:, use], axis=1))
    return pd.DataFrame({"iteration": column.index, "epoch": series.epoch_of(run, column.index),
                         "value": value})


@names_the_run
def limits(run: Run) -> pd.DataFrame:
    """Return `low` and `high` over iterations: between them, Ada's variance form or a control of
    the consensus distance changes nothing. Empty if the graph has no such controller."""
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
    found = seen(run, **watched(run))
    largest = np.ones(len(found))
    if relative:
        at, value = found["iteration"].to_numpy(), found["value"].to_numpy(dtype=float)
        checked = (at + 1) % every(run, graph.get("every", {"iterations": 1})) == 0
        largest = np.maximum.accumulate(np.where(checked & np.isfinite(value), value, 0.0))
        largest = np.where(largest > 0, largest, np.nan)
    return found[["iteration", "epoch"]].assign(low=low * largest, high=high * largest)


def every(run: Run, given) -> int:
    """Return a duration of the spec in iterations."""
    if not isinstance(given, dict):
        return max(1, int(given))
    if "iterations" in given:
        return max(1, int(given["iterations"]))
    batch = fields.batch(run)
    if "samples" in given and batch > 0:
        return whole(float(given["samples"]) / batch)
    return whole(float(given.get("epochs", 1)) * per_epoch(run))


def whole(iterations: float) -> int:
    """Return a duration as the program rounds it: up, but not for an error of rounding."""
    near = round(iterations)
    return max(1, near if abs(iterations - near) <= 1e-12 * iterations else math.ceil(iterations))


def per_epoch(run: Run) -> int:
    """Return the iterations of an epoch, which the replica with the fewest samples limits. A length
    in epochs tells them; otherwise the partition is taken to be even."""
    length = run.spec.get("length")
    epochs = length.get("epochs", 0) if isinstance(length, dict) else 0
    if epochs >= 1 and run.planned:
        return max(1, math.floor(run.planned / epochs * (1 + 1e-12)))
    share = float(run.iterations["epoch"][0]) if len(run.iterations) else 1.0
    return max(1, math.floor((1 + 1e-9) / share))
