"""Variance versus accuracy: the relation between the replicas' spread and their accuracy."""

import textwrap

import numpy as np

from ..naming import differences
from ..naming.measures import TITLES, UNITS
from ..quantities import series
from ..quantities.ends import ends
from ..reading.run import Run
from ..selection.table_row import TableRow
from . import style
from .page_layout import LETTER
from .points import explained, spread_and_end


def figure(runs: list[Run], measure: str = "variance", each: bool = False):
    """Draw each setting's path through training (left), and, for several settings, final accuracy
    against early spread (right).

    A point on the left is one evaluation: its spread is the mean since the previous evaluation, its
    accuracy that of the local models (line: median, bar: worst to best of all seeds). Points grow
    with time; the open marker is the end of the run. The right panel shows the spread of the first
    tenth of the iterations.
    """
    kinds = [series.performance(run)[1] for run in runs]
    kind = "accuracy" if "accuracy" in kinds else "loss"
    used = [run for run, its in zip(runs, kinds)
            if its == kind and len(series.spread_at_evaluations(run, measure))]
    settings = style.settings(used, each)
    if any(isinstance(run, TableRow) for run in runs):
        return without_curves(runs, settings, measure, kind)
    several = len(settings) > 1
    drawing, axes = style.panels(1, 2 if several else 1, 9.6 if several else 6.4, 4.8,
                                 sharey=several, width_ratios=[1.35, 1] if several else None)
    time(axes[0, 0], settings, measure, kind)
    if several:
        beginning(axes[0, 1], settings, measure, kind)
        explained(axes[0, 0], len(settings) < len(used))
    axes[0, 0].plot([], [], color="#555555", linewidth=0, marker="o", markersize=7,
                    markerfacecolor="white", label="end of the run")
    return completed(drawing, axes[0, 0], runs, used)


def without_curves(runs: list[Run], settings: list[style.Setting], measure: str, kind: str):
    """Draw the second panel alone: rows of a table contain only the ends of the runs."""
    drawing, axes = style.panels(1, 1, 6.4, 4.8)
    axis, used = axes[0, 0], [run for setting in settings for run in setting.runs]
    beginning(axis, settings, measure, kind)
    axis.set_ylabel(f"final test {kind}")
    for setting in settings:
        axis.plot([], [], color=setting.look.colour, linewidth=0, marker=setting.look.marker,
                  markersize=6, label=setting.look.label)
    explained(axis, len(settings) < len(used))
    return completed(drawing, axis, runs, used)


def completed(drawing, axis, runs: list[Run], used: list[Run]):
    """Return the figure with its legend and a list of the runs that it does not show."""
    left = [run for run in runs if run not in used]
    if left:
        labels = differences.labels(runs)
        note = "left out, nothing to draw: " + ", ".join(labels[runs.index(run)] for run in left)
        drawing.suptitle(textwrap.fill(note, int(drawing.get_figwidth() / LETTER)),
                         fontsize=style.font_size(8), color="#777777")
    style.legend(drawing, [axis], len(runs))
    return drawing


def time(axis, settings: list[style.Setting], measure: str, kind: str):
    """Draw trajectories: one line per setting, one point per evaluation."""
    ways = [setting.over(series.spread_at_evaluations, measure)
            for setting in settings]
    scale = style.Logarithmic([way["value"] for way in ways])
    for way, look in zip(ways, [setting.look for setting in settings]):
        x, y = scale.place(way["value"]), way["median"].to_numpy(dtype=float)
        axis.plot(x, y, color=look.colour, linestyle=look.dash, linewidth=1.0, alpha=0.75)
        axis.errorbar(x, y, yerr=style.bars(y, way["min"], way["max"]),
                      xerr=style.bars(x, *(scale.place(way[f"value_{end}"])
                                           for end in ("low", "high"))),
                      fmt="none", ecolor=look.colour, elinewidth=0.8, alpha=0.4)
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
                          textcoords="offset points", fontsize=style.font_size(7.5),
                          color="#666666")
    epochs = [way["epoch"].iloc[i] for way in ways for i in (0, -1)]
    axis.set_title(f"during training, epoch {min(epochs):.3g} to {max(epochs):.3g}" if epochs
                   else "during training")
    axis.set_xlabel(f"{UNITS[measure]}, averaged since the previous evaluation")
    axis.set_ylabel(f"local test {kind}: median, worst to best")
    finish(axis, scale, kind, len(ways), measure)


def beginning(axis, settings: list[style.Setting], measure: str, kind: str):
    """Draw final accuracy against early spread."""
    by_run = {end.run: end for end in ends([run for one in settings for run in one.runs])[0]}
    ended = [(setting.look, [run for run in setting.runs if run in by_run])
             for setting in settings]  # the last evaluation of a diverged run may not be finite
    points = [(look, [series.early_spread(run, measure) for run in runs],
               [by_run[run] for run in runs]) for look, runs in ended if runs]
    scale = spread_and_end(axis, points)
    axis.set_title(f"early spread and final {kind}")
    axis.set_xlabel(f"{UNITS[measure]}, mean of the first tenth")
    finish(axis, scale, kind, len(points), measure)


def finish(axis, scale, kind: str, count: int, measure: str):
    """Set the scales of a panel, or say why it is empty."""
    if not count:
        style.empty_panel(axis, f"{TITLES[measure]} or evaluations were not recorded")
        return
    if kind == "accuracy":
        style.percent_axis(axis)
    else:
        style.loss_axis(axis)
    scale.apply(axis, "x")
