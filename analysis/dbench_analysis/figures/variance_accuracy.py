"""Variance versus accuracy: the relation between the replicas' spread and what they learn."""

import numpy as np

from .. import series
from ..run import Run
from . import style
from .spread import TITLES, UNITS


def figure(runs: list[Run], measure: str = "variance"):
    """Left: each run's way through training. Right (several runs): early spread, final accuracy.

    A point on the left is one evaluation: its spread is the mean since the evaluation before, its
    accuracy the local models' (line: median, bar: min to max). Points grow with time; the open
    marker is where the run ends. On the right the spread of the first tenth of the iterations.
    """
    several = len(runs) > 1
    drawing, axes = style.panels(1, 2 if several else 1, 9.6 if several else 6.4, 4.8,
                                 sharey=several, **(
        {"width_ratios": [1.35, 1]} if several else {}))
    ways = [series.spread_at_evaluations(run, measure) for run in runs]
    kinds = [series.performance(run)[1] for run in runs]
    kind = "accuracy" if "accuracy" in kinds else "loss"
    used = [i for i, k in enumerate(kinds) if k == kind and len(ways[i])]
    looks = style.looks(runs)
    time(axes[0, 0], [(ways[i], looks[i]) for i in used], measure, kind)
    if several:
        early = [(series.early_spread(runs[i], measure), ways[i].iloc[-1], looks[i]) for i in used]
        beginning(axes[0, 1], early, measure, kind)
        axes[0, 0].plot([], [], color="#555555", linewidth=0, marker="_", markersize=11,
                        markeredgewidth=1.8, label="mean model (right)")
    axes[0, 0].plot([], [], color="#555555", linewidth=0, marker="o", markersize=7,
                    markerfacecolor="white", label="end of the run")
    left = [look.label for i, look in enumerate(looks) if i not in used]
    if left:
        drawing.suptitle(f"left out, nothing to draw: {', '.join(left)}", fontsize=8,
                         color="#777777")
    style.legend(drawing, [axes[0, 0]], len(runs))
    return drawing


def time(axis, ways, measure: str, kind: str):
    """Trajectories: one line a run, one point an evaluation."""
    scale = style.Logarithmic([way["value"] for way, _ in ways])
    for way, look in ways:
        x, y = scale.place(way["value"]), way["median"].to_numpy(dtype=float)
        low, high = (way[c].to_numpy(dtype=float) for c in ("min", "max"))
        axis.plot(x, y, color=look.colour, linestyle=look.dash, linewidth=1.0, alpha=0.75)
        with np.errstate(invalid="ignore"):
            bars = np.maximum(np.array([y - low, high - y]), 0)
        axis.errorbar(x, y, yerr=bars, fmt="none", ecolor=look.colour, elinewidth=0.8, alpha=0.4)
        size = 8 + 50 * (np.arange(len(x)) + 1) / max(1, len(x))
        axis.scatter(x[:-1], y[:-1], s=size[:-1], color=look.colour, marker=look.marker, alpha=0.55,
                     linewidths=0)
        axis.scatter(x[-1:], y[-1:], s=75, facecolor="white", edgecolor=look.colour,
                     marker=look.marker, linewidths=1.8, zorder=4)
        axis.plot([], [], color=look.colour, linestyle=look.dash, marker=look.marker, markersize=5,
                  label=look.label)
    if len(ways) == 1 and len(x) < 40:
        for i in range(0, len(x), max(1, len(x) // 8)):
            axis.annotate(f"epoch {way['epoch'].iloc[i]:.3g}", (x[i], y[i]), xytext=(7, 5),
                          textcoords="offset points", fontsize=7.5, color="#666666")
    ends = [way["epoch"].iloc[i] for way, _ in ways for i in (0, -1)]
    axis.set_title(f"during training, epoch {min(ends):.3g} to {max(ends):.3g}" if ends
                   else "during training")
    axis.set_xlabel(f"{UNITS[measure]}, mean since the evaluation before")
    axis.set_ylabel("local test accuracy: median, min to max" if kind == "accuracy"
                    else "local test loss: median, min to max")
    finish(axis, scale, kind, len(ways), measure)


def beginning(axis, points, measure: str, kind: str):
    """One point a run: what the early spread has to do with the end."""
    scale = style.Logarithmic([[early] for early, _, _ in points])
    for early, end, look in points:
        x, y = scale.place([early]), [end["median"]]
        bars = np.maximum([[end["median"] - end["min"]], [end["max"] - end["median"]]], 0)
        axis.errorbar(x, y, yerr=bars, fmt=look.marker, color=look.colour, markersize=7,
                      elinewidth=1, capsize=2)
        axis.plot(x, [end["mean"]], marker="_", markersize=13, markeredgewidth=1.8,
                  color=look.colour, linewidth=0)
    axis.set_title(f"early spread and final {kind}")
    axis.set_xlabel(f"{UNITS[measure]}, mean of the first tenth")
    finish(axis, scale, kind, len(points), measure)


def finish(axis, scale, kind: str, count: int, measure: str):
    if not count:
        style.nothing(axis, f"{TITLES[measure]} or evaluations were not recorded")
        return
    if kind == "accuracy":
        style.percent_axis(axis)
    else:
        style.loss_axis(axis)
    scale.apply(axis, "x")
