"""How fast runs learn: the mean model over iterations, epochs, bytes sent or seconds of steps."""

import numpy as np

from .. import differences, series
from ..comparable import caveats, refuse_times
from ..run import Run
from . import style
from .accuracy import clean

X = {"iterations": "iteration", "epochs": "epoch", "bytes": "sent per replica (MB)",
     "seconds": "seconds of steps, the slowest rank's"}


def places(run: Run, evaluated, x: str) -> np.ndarray:
    """Where the evaluations stand on the x axis; NaN for what is not recorded."""
    if x in ("iterations", "epochs"):
        return evaluated[X[x]].to_numpy(dtype=float)
    steps = series.bytes_sent(run) / run.replicas / 1e6 if x == "bytes" else series.step_times(run)
    reached = np.concatenate([[0.0], np.cumsum(np.nan_to_num(steps))])
    at = evaluated["iteration"].to_numpy(dtype=int)
    return np.where(at < len(reached), np.take(reached, at, mode="clip"), np.nan)


def figure(runs: list[Run], x: str = "iterations"):
    """Accuracy and loss of the mean model. Runs that differ in the seed only are one line, with a
    band from the worst seed to the best. Seconds of several runs are refused where they do not
    compare."""
    if x == "seconds":
        refuse_times(["seconds"], ["; ".join(caveats(run)) for run in runs], "--x")
    drawing, ((left, right),) = style.panels(1, 2, 9.0, 4.2)
    groups = differences.alike(runs)
    looks = style.group_looks(groups)
    for axis, what in ((left, "accuracy"), (right, "loss")):
        drawn = [curve(axis, group, look, what, x) for group, look in zip(groups, looks)]
        axis.set(title=f"{what} of the mean model", xlabel=X[x], ylabel=f"test {what}")
        if not any(drawn):
            style.nothing(axis, f"no finite {what} recorded")
        elif what == "accuracy":
            style.percent_axis(axis)
        else:
            style.loss_axis(axis)
    style.legend(drawing, [left], len(runs))
    return drawing


def curve(axis, group: list[Run], look, what: str, x: str) -> bool:
    """One line for the runs of a group where they were evaluated alike, else one each."""
    curves = []
    for run in group:
        found = series.evaluations(run, what)
        curves.append((places(run, found, x), clean(found["mean"], what == "loss"),
                       tuple(found["iteration"])))
    style_of = dict(color=look.colour, linestyle=look.dash)
    if len({grid for *_, grid in curves}) == 1:
        across, values = (np.array([c[i] for c in curves]) for i in (0, 1))
        where, mean = (series.quiet(np.nanmean, v, axis=0) for v in (across, values))
        if len(group) > 1:
            low, high = (series.quiet(f, values, axis=0) for f in (np.nanmin, np.nanmax))
            axis.fill_between(where, low, high, color=look.colour, alpha=0.15, linewidth=0)
        axis.plot(where, mean, label=look.label, marker=look.marker if len(mean) < 30 else None,
                  markersize=3.5, **style_of)
    else:
        for i, (where, value, _) in enumerate(curves):
            axis.plot(where, value, label=look.label if not i else None, linewidth=0.9, **style_of)
    return any(np.isfinite(value).any() for _, value, _ in curves)
