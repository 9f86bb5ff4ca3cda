"""Final accuracy across runs: against the number of connections, and against the number of
replicas."""

from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from .. import differences, fields, names, series
from ..run import Run
from . import style
from .accuracy import clean


@dataclass(frozen=True)
class End:
    """Where a run ends: the evaluated models, and what it is set against."""

    run: Run
    mean: float
    low: float
    median: float
    high: float


def ends(runs: list[Run]) -> tuple[list[End], str]:
    """The last evaluation of each run that has one, by accuracy, or by loss where no run has
    accuracies."""
    kinds = [series.performance(run)[1] for run in runs]
    kind = "accuracy" if "accuracy" in kinds else "loss"
    found = []
    for run in runs:
        value = {c: fields.last(run, kind, c) for c in ("mean", "min", "median", "max")}
        if np.isfinite(value["mean"]) or np.isfinite(value["median"]):
            found.append(End(run, value["mean"], value["min"], value["median"], value["max"]))
    return found, kind


def doublings(axis, values):
    """x by powers of two with plain numbers, and room for 0 and shares of one."""
    axis.set_xscale("symlog", base=2, linthresh=1)
    low, high = min(values), max(values)
    ticks = [0.0] * (low < 0.75) + [2.0**k for k in range(11) if 2.0**k <= max(2, high * 1.5)]
    axis.xaxis.set_major_locator(FixedLocator(ticks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_xlim(low * 0.8 if low > 1 else (0.75 if low >= 0.75 else -0.15),
                  max(high * 1.25, high + 0.3))


def finish(axis, kind: str):
    style.percent_axis(axis) if kind == "accuracy" else style.loss_axis(axis)
    axis.set_ylabel(f"final test {kind}")


def connections(runs: list[Run]):
    """A point for each setting: its mean degree, and where its runs end. Bars: worst to best local
    model, mean over seeds; the mean model open, with a bar over the seeds."""
    drawing, ((axis,),) = style.panels(1, 1, 7.2, 5.0)
    found, kind = ends(runs)
    axis.set(title=f"final {kind} against connections",
             xlabel="mean neighbours of a replica, all iterations")
    if not found:
        style.nothing(axis, "no finite accuracy or loss recorded")
        return drawing
    by_run = {end.run: end for end in found}
    colours = style.colours_of([names.implementation(run) for run in by_run])
    sizes = sorted({run.replicas for run in by_run})
    degrees = []
    for group in differences.alike(list(by_run)):
        members = [by_run[run] for run in group]
        degree = float(np.mean([fields.mean(run, "degree") for run in group]))
        if not np.isfinite(degree):
            continue
        degrees.append(degree)
        name, n = names.communication(group[0]), group[0].replicas
        colour, marker = colours[names.implementation(group[0])], style.MARKERS[
            sizes.index(n) % len(style.MARKERS)]
        low, median, high, mean = (float(np.mean([getattr(e, part) for e in members]))
                                   for part in ("low", "median", "high", "mean"))
        if np.isfinite([low, median, high]).all():
            axis.errorbar([degree], [median],
                          yerr=[[max(0, median - low)], [max(0, high - median)]], fmt=marker,
                          color=colour, markersize=6,
                          elinewidth=1, capsize=2, alpha=0.8)
        over_seeds = float(np.std([e.mean for e in members], ddof=1)) if len(members) > 1 else None
        axis.errorbar([degree], [mean], yerr=over_seeds, fmt=marker, color=colour, markersize=9,
                      markerfacecolor="none", markeredgewidth=1.4,
                      elinewidth=1.8, label=name)
    for n, marker in zip(sizes, style.MARKERS) if len(sizes) > 1 else []:
        axis.plot([], [], color="#555555", linewidth=0, marker=marker, markersize=6,
                  label=f"n = {n}")
    axis.plot([], [], color="#555555", linewidth=0, marker="o", markersize=9,
              markerfacecolor="none", label="mean model (bar: deviation over seeds)")
    axis.plot([], [], color="#555555", linewidth=0, marker="o", markersize=6,
              label="median of local models (bar: worst to best)")
    finish(axis, kind)
    if degrees:
        doublings(axis, degrees)
    style.legend(drawing, [axis], len(runs))
    return drawing


def lines(found: list[End]) -> list[tuple[str, str, object, dict[int, list[End]]]]:
    """(communication, what is fixed, its batch, ends by replicas): a line wherever a communication
    has several numbers of replicas at one local, or at one global batch; runs of no line are points
    ("", None)."""
    groups: dict[tuple, dict[int, list[End]]] = {}
    for end in found:
        local, whole = fields.local_batch(end.run), fields.batch(end.run)
        key = names.communication(end.run)
        if isinstance(local, str):  # "full": all replicas together see the whole training set
            groups.setdefault((key, "global", local),
                              {}).setdefault(end.run.replicas, []).append(end)
            continue
        groups.setdefault((key, "local", local), {}).setdefault(end.run.replicas, []).append(end)
        groups.setdefault((key, "global", whole), {}).setdefault(end.run.replicas, []).append(end)
    kept = [(*key, by_n) for key, by_n in groups.items() if len(by_n) > 1]
    inside = {id(end) for *_, by_n in kept for members in by_n.values() for end in members}
    alone: dict[str, dict[int, list[End]]] = {}
    for end in found:
        if id(end) not in inside:
            alone.setdefault(names.communication(end.run),
                             {}).setdefault(end.run.replicas, []).append(end)
    kept.sort(key=lambda line: line[1] == "global")  # drawn over the solid lines
    return kept + [(name, "", None, by_n) for name, by_n in alone.items()]


def scale(runs: list[Run]):
    """Against the number of replicas: the mean model and the worst local model, with fixed local
    batch (solid, filled) and fixed global batch (dashed, open). Markers are means over runs, dots
    the runs."""
    drawing, (panels,) = style.panels(1, 2, 9.6, 4.6, sharey=True)
    found, kind = ends(runs)
    worst = "low" if kind == "accuracy" else "high"
    colours = style.colours_of([names.implementation(end.run) for end in found])
    told = lines(found)
    crowd = [line[:2] for line in told]
    several = {(name, how) for name, how in crowd if how and crowd.count((name, how)) > 1}
    for axis, part, title in ((panels[0], "mean", "mean model"),
                              (panels[1], worst, "worst local model")):
        axis.set(title=f"final {kind} of the {title}", xlabel="replicas")
        seen: dict[tuple, int] = {}
        for name, how, batch, by_n in told:
            nth = seen[name, how] = seen.get((name, how), -1) + 1
            colour = colours[names.implementation(next(iter(by_n.values()))[0].run)]
            sizes = sorted(by_n)
            means = [float(series.quiet(np.nanmean, np.array([getattr(e, part) for e in by_n[n]])))
                     for n in sizes]
            label = (f"{name}, {how} batch {batch:g}" if (name, how) in several
                     and not isinstance(batch, str) else None)
            axis.plot(sizes, clean(means, kind == "loss"), color=colour,
                      linestyle="--" if how == "global" else ("-" if how else "none"),
                      marker=style.MARKERS[nth % len(style.MARKERS)], markersize=6,
                      markerfacecolor="white" if how == "global" else colour, label=label)
            for n in sizes:
                if len(by_n[n]) > 1:
                    axis.plot([n] * len(by_n[n]), [getattr(e, part) for e in by_n[n]], color=colour,
                              linewidth=0, marker=".", markersize=3, alpha=0.5)
        if not found:
            style.nothing(axis, "no finite accuracy or loss recorded")
    if not found:
        return drawing
    finish(panels[0], kind)
    if kind == "accuracy":
        style.percent_axis(panels[1])
    for axis in panels:
        doublings(axis, [end.run.replicas for end in found])
    for name, colour in dict.fromkeys((names.communication(e.run),
                                       colours[names.implementation(e.run)]) for e in found):
        panels[0].plot([], [], color=colour, label=name)
    for how, dash, face in (("local", "-", "#555555"), ("global", "--", "white")):
        if any(line[1] == how for line in told):
            panels[0].plot([], [], color="#555555", linestyle=dash, marker="o", markersize=6,
                           markerfacecolor=face, label=f"fixed {how} batch")
    style.legend(drawing, [panels[0]], len(runs))
    return drawing
