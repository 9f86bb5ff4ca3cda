"""Times of single iterations: their spread, what they hide of the messages, and their cost."""

from dataclasses import dataclass

import numpy as np

from ..basics.errors import names_the_run
from ..naming import names
from ..reading.run import Run
from . import fields, series
from .comparability import on_cpu

BACKWARD = 2 / 3  # share of a gradient's time that is the backward pass
SPREAD = (10, 50, 90)  # percentiles of the iterations: low end, middle, high end


@dataclass(frozen=True)
class Spread:
    """Low end, median and high end (SPREAD) over iterations."""

    low: float
    median: float
    high: float

    def of(self, function) -> "Spread":
        """Return a decreasing or increasing function of the values."""
        ends = sorted((function(self.low), function(self.high)))
        return Spread(ends[0], function(self.median), ends[1])


def spread(values: np.ndarray) -> Spread | None:
    """Return the spread of finite positive values; None without any."""
    found = values[np.isfinite(values) & (values > 0)]
    return Spread(*map(float, np.percentile(found, SPREAD))) if len(found) else None


def without_first(values: np.ndarray) -> np.ndarray:
    """Return the values of all iterations but the first, which contains the set-up."""
    return values[1:] if len(values) > 1 else values


def step_spread(runs: list[Run]) -> Spread | None:
    """Return the spread of the slowest rank's step time, over the iterations of all runs."""
    return spread(np.concatenate([without_first(series.step_times(run)) for run in runs]))


def throughput(runs: list[Run]) -> Spread | None:
    """Return the spread of the samples per second of all replicas."""
    steps, batch = step_spread(runs), fields.batch(runs[0])
    if steps is None or not batch > 0:
        return None
    return steps.of(lambda seconds: batch / seconds)


@names_the_run
def break_even(run: Run) -> np.ndarray:
    """Return the break-even bandwidth of each iteration in bytes per second: the bytes that a
    replica sends, divided by the time that can hide them. That is the whole gradient with
    combine_while_adapt, and its backward pass otherwise. It is empty for combine_then_adapt, whose
    messages nothing hides."""
    if "time_gradient" not in run.iterations or names.order(run) == "combine_then_adapt":
        return np.empty(0)
    gradient = run.iterations["time_gradient"].rowwise(
        lambda v: series.nan_safe(np.nanmean, v, axis=1))
    sent = series.bytes_per_replica(run)
    rows = min(len(gradient), len(sent))
    share = 1.0 if names.order(run) in ("combine_while_adapt", "awc") else BACKWARD
    with np.errstate(divide="ignore", invalid="ignore"):
        return without_first(sent[:rows] / (share * gradient[:rows]))


def hours_unit(runs: list[Run]) -> str:
    """Return the unit of a cost: hours of GPUs, or of ranks on CPUs."""
    return "rank-hours" if any(on_cpu(run) for run in runs) else "GPU-hours"


@names_the_run
def rank_hours(run: Run, at: np.ndarray) -> np.ndarray:
    """Return the hours of all ranks together, in steps, until each of the iterations `at`. A run
    may be resumed on another number of ranks."""
    segments = run.segments
    starts, ranks = np.zeros(1, int), np.array([run.rank_count])
    if {"first_iteration", "ranks"} <= {*segments}:
        starts = segments["first_iteration"].to_numpy(dtype=int)
        ranks = segments["ranks"].to_numpy(dtype=int)
    stops = np.union1d(at, starts)
    counts = np.full(len(stops), run.rank_count)
    for first, count in zip(starts, ranks):
        counts[stops > first] = count
    hours = np.cumsum(np.diff(series.step_seconds(run, stops), prepend=0.0) * counts) / 3600
    return hours[np.searchsorted(stops, at)]


def hours_to_reach(run: Run, metric: str, targets: np.ndarray) -> np.ndarray:
    """Return the hours of all ranks together, in steps, until the mean model first is as good as
    each target; NaN where it never is."""
    found = series.evaluations(run, metric)
    hours = rank_hours(run, found["iteration"].to_numpy(dtype=int))
    best = np.fmax.accumulate(found["mean"].to_numpy(dtype=float))
    first = np.searchsorted(np.nan_to_num(best, nan=-np.inf), targets, side="left")
    there = first < len(best)
    return np.where(there, np.take(hours, first, mode="clip"), np.nan)
