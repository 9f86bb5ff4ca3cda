"""Final accuracy across runs: against the number of connections, and against the number of
replicas."""


import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import offset_copy

from ..naming import differences, names
from ..quantities import fields, series
from ..quantities.ends import End, degree, ends, over_seeds
from ..reading.run import Run
from . import style
from .accuracy import clean


def doublings(axis, values):
    """Scale x by powers of two with plain numbers, with space for 0 and for fractions of one."""
    axis.set_xscale("symlog", base=2, linthresh=1)
    low, high = min(values), max(values)
    ticks = [0.0] * (low < 0.75) + [2.0**k for k in range(11) if 2.0**k <= max(2, high * 1.5)]
    axis.xaxis.set_major_locator(FixedLocator(ticks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_xlim(low * 0.8 if low > 1 else (0.75 if low >= 0.75 else -0.15),
                  max(high * 1.25, high + 0.3))


def finish(axis, kind: str):
    """Set the scale and the label of y."""
    style.percent_axis(axis) if kind == "accuracy" else style.loss_axis(axis)
    axis.set_ylabel(f"final test {kind}")


def connections(runs: list[Run], each: bool = False):
    """Draw a point for each setting: its mean degree, and the final values of its runs. Bars run
    from the worst to the best local model of all seeds; the mean model is open, with a bar over the
    seeds."""
    drawing, ((axis,),) = style.panels(1, 1, 7.2, 5.0)
    found, kind = ends(runs)
    axis.set(title=f"final {kind} against connections",
             xlabel="mean neighbours of a replica, all iterations")
    if not found:
        style.empty_panel(axis, "no finite accuracy or loss recorded")
        return drawing
    by_run = {end.run: end for end in found}
    settings = [setting for setting in style.settings(list(by_run), each)
                if np.isfinite(degree(setting.runs))]
    sizes = sorted({run.replicas for run in by_run})
    degrees = [degree(setting.runs) for setting in settings]
    means = [np.array([by_run[run].mean for run in setting.runs]) for setting in settings]
    for setting, place, mean, apart in zip(settings, degrees, means, style.separated(
            axis, np.log2(np.maximum(degrees, 0.5)), [mean.mean() for mean in means])):
        members, look = [by_run[run] for run in setting.runs], setting.look
        marker = look.marker if len(sizes) == 1 else style.MARKERS[
            sizes.index(setting.runs[0].replicas) % len(style.MARKERS)]
        low, median, high = over_seeds(members)
        style.include(axis, [place], [[low], [high], *([value] for value in mean)])
        how = {"fmt": marker, "color": look.colour, "transform": apart}
        if np.isfinite([low, median, high]).all():
            axis.errorbar([place], [median], yerr=style.bars([median], [low], [high]),
                          markersize=6, elinewidth=1, capsize=2, alpha=0.8, **how)
        axis.errorbar([place], [mean.mean()], yerr=mean.std(ddof=1) if len(mean) > 1 else None,
                      markersize=9, markerfacecolor="none", markeredgewidth=1.4, elinewidth=1.8,
                      label=look.label, **how)
    axis.plot([], [], color="#555555", linewidth=0, marker="o", markersize=9,
              markerfacecolor="none", label="mean model (bar: standard deviation over seeds)"
              if len(settings) < len(found) else "mean model")
    axis.plot([], [], color="#555555", linewidth=0, marker="o", markersize=6,
              label=style.WORST_TO_BEST)
    finish(axis, kind)
    if degrees:
        doublings(axis, degrees)
    style.legend(drawing, [axis], len(runs))
    return drawing


def lines(found: list[End], each: bool = False) -> list[tuple[str, str, object,
                                                              dict[int, list[End]]]]:
    """Return (communication, what is fixed, its batch, ends by replicas): a line for each
    communication (`each`: of one seed) that has several numbers of replicas at one local or one
    global batch. Runs on no line are points ("", None)."""
    called = [f"{style.renamed(names.marked(name))}{f', seed {names.seed(end.run)}' * each}"
              for name, end in zip(differences.communications([end.run for end in found]), found)]
    groups: dict[tuple, dict[int, list[End]]] = {}
    for key, end in zip(called, found):
        local, whole = fields.local_batch(end.run), fields.batch(end.run)
        fixed = [("global", local)] if isinstance(local, str) else [("local", local),
                                                                    ("global", whole)]
        for how, batch in fixed:  # "full": all replicas together see the whole training set
            groups.setdefault((key, how, batch), {}).setdefault(end.run.replicas, []).append(end)
    kept = [(*key, by_n) for key, by_n in groups.items() if len(by_n) > 1]
    inside = {id(end) for *_, by_n in kept for members in by_n.values() for end in members}
    alone: dict[str, dict[int, list[End]]] = {}
    for key, end in zip(called, found):
        if id(end) not in inside:
            alone.setdefault(key, {}).setdefault(end.run.replicas, []).append(end)
    kept.sort(key=lambda line: line[1] == "global")  # drawn over the solid lines
    return kept + [(name, "", None, by_n) for name, by_n in alone.items()]


def scale(runs: list[Run], each: bool = False):
    """Draw final values against the number of replicas: the mean model and the worst local model,
    with fixed local batch (solid, filled) and fixed global batch (dashed, open). Markers are means
    over runs, bars go from the lowest run to the highest."""
    drawing, panels = style.panels(1, 2, 9.6, 4.6, sharey=True)
    left, right = panels.flat
    found, kind = ends(runs)
    worst = "low" if kind == "accuracy" else "high"
    drawn_lines = lines(found, each)
    kinds = [names.implementation(next(iter(by_n.values()))[0].run) for *_, by_n in drawn_lines]
    palette = style.colours_of(kinds)
    colours = {name: palette[kind] for (name, *_), kind in zip(drawn_lines, kinds)}
    markers = {name: style.MARKERS[i % len(style.MARKERS)]
               for i, name in enumerate(dict.fromkeys(name for name, *_ in drawn_lines))}
    crowd = [line[:2] for line in drawn_lines]
    several = {(name, how) for name, how in crowd if how and crowd.count((name, how)) > 1}
    for axis, part, title in ((left, "mean", "mean model"), (right, worst, "worst local model")):
        axis.set(title=f"final {kind} of the {title}", xlabel="replicas")
        for i, (name, how, batch, by_n) in enumerate(drawn_lines):
            sizes = sorted(by_n)
            values = [clean([getattr(e, part) for e in by_n[n]], kind == "loss") for n in sizes]
            mean, low, high = ([float(series.nan_safe(f, v)) for v in values]
                               for f in (np.nanmean, np.nanmin, np.nanmax))
            style.include(axis, sizes, [low, high])
            label = (f"{name}, {how} batch {batch:g}" if (name, how) in several
                     and not isinstance(batch, str) else None)
            colour = colours[name]
            moved = offset_copy(axis.transData, drawing, x=3 * (i - (len(drawn_lines) - 1) / 2),
                                units="points")
            axis.errorbar(sizes, mean, yerr=style.bars(mean, low, high), color=colour,
                          linestyle="--" if how == "global" else ("-" if how else "none"),
                          marker=markers[name], markersize=6, elinewidth=1, capsize=2,
                          markerfacecolor="white" if how == "global" else colour, label=label,
                          transform=moved)
        if not found:
            style.empty_panel(axis, "no finite accuracy or loss recorded")
    if not found:
        return drawing
    finish(left, kind)
    if kind == "accuracy":
        style.percent_axis(right)
    for axis in (left, right):
        doublings(axis, [end.run.replicas for end in found])
    for name, *_, by_n in drawn_lines:
        counts = {len(members) for members in by_n.values()}
        label = style.seeds(name, max(counts)) if max(counts) > 1 else name
        left.plot([], [], color=colours[name], marker=markers[name], markersize=5,
                  label=label)
    for how, dash, face in (("local", "-", "#555555"), ("global", "--", "white")):
        if any(line[1] == how for line in drawn_lines):
            left.plot([], [], color="#555555", linestyle=dash, marker="o", markersize=6,
                      markerfacecolor=face, label=f"fixed {how} batch")
    style.legend(drawing, [left], len(runs))
    return drawing
