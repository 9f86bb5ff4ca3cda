"""One heat map for each measure of spread; rows are tensors from input to output."""

import warnings

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.ticker import NullFormatter

from ..naming.measures import TITLES, UNITS
from ..reading.run import Run
from ..reading.schema import MEASURES
from . import style

COLUMNS = 300  # bins of iterations across a map


def heat_maps(runs: list[Run], label: str):
    """Draw dispersion measures and variance of each tensor over iterations, averaged over the runs,
    which differ only in the seed."""
    run = runs[0]
    measures = [m for m in (*MEASURES, "variance") if m in run.parameters]
    count, tensors = max(1, len(measures)), len(run.tensors)
    rows = (count + 1) // 2
    height = rows * float(np.clip(1.1 + 0.11 * tensors, 2.4, 4.4))
    figure, axes = style.panels(rows, 2 if count > 1 else 1, 9.0, height, least=2.1)
    for axis, measure in zip(axes.flat, measures):
        draw(figure, axis, runs, measure, labels=axis in axes[:, 0])
    for axis in list(axes.flat)[len(measures) or 1 :]:
        axis.set_axis_off()
    if not measures:
        style.empty_panel(axes[0, 0], "neither norms nor variance were recorded")
    figure.suptitle(f"{label}: spread over replicas, tensor by tensor", x=0.01, ha="left",
                    fontsize=10)
    return figure


def draw(figure, axis, runs: list[Run], measure: str, labels: bool):
    """Draw the heat map of one measure."""
    columns = [run.parameters[measure] for run in runs if measure in run.parameters]
    rows = min(map(len, columns))
    x = columns[0].index[:rows]
    values = (columns[0][:rows] if len(columns) == 1
              else np.mean([column[:rows].astype(float) for column in columns], axis=0))
    edges = np.unique(np.linspace(0, len(x), min(COLUMNS, len(x)) + 1).astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        values = np.where(np.isfinite(values), values, np.nan)
        binned = np.array([np.nanmean(values[a:b], axis=0) for a, b in zip(edges[:-1], edges[1:])])
    found = style.positive(binned)
    axis.set_title(TITLES[measure])
    axis.set_xlabel("iteration")
    axis.grid(False)
    axis.set_facecolor("#EDEDED")  # shows values that are zero or not finite
    tensors = binned.shape[1]
    if len(found):
        low, high = np.quantile(found, [0.02, 1.0])
        norm = LogNorm(low, max(high, low * 1.01))
        step = (x[-1] - x[0]) / max(1, len(x) - 1) or 1
        sides: np.ndarray = np.append(x[edges[:-1]], x[-1] + step)
        mesh = axis.pcolormesh(sides, np.arange(tensors + 1) - 0.5,
                               np.where(binned.T > 0, binned.T, np.nan),
                               norm=norm, cmap="viridis", rasterized=True)
        unit = UNITS[measure].rsplit("(", 1)[-1].rstrip(")")
        bar = figure.colorbar(mesh, ax=axis, pad=0.02, aspect=30, label=f"{unit}, log scale")
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        if high < 10 * low:  # perhaps no power of ten is between them
            ticks = np.geomspace(low, max(high, low * 1.01), 4)[1:3]
            bar.set_ticks(ticks, labels=[f"{value:.2g}" for value in ticks])
    else:
        style.empty_panel(axis, "zero throughout")
    axis.set_ylim(tensors - 0.5, -0.5)
    every = max(1, int(np.ceil(tensors / 33)))
    names = list(runs[0].tensors["name"])
    axis.set_yticks(range(0, tensors, every),
                    [shortened(n) for n in names[::every]] if labels else [],
                    fontsize=style.font_size(6.5))


def shortened(name: str) -> str:
    """Return the end of a long name."""
    return name if len(name) <= 26 else "..." + name[-23:]
