"""Accuracy and loss over epochs: local models as a band with their median, and the mean model."""

import numpy as np
from matplotlib.transforms import offset_copy

from ..quantities import series
from ..reading.metrics import METRICS, Metric
from ..reading.run import Run
from . import style
from .thinning import largest_of, least_of, mean_of, thin


def evaluated(runs: list[Run], each: bool = False):
    """Draw the evaluations of the test set, with a panel for each metric that all runs have."""
    settings, metrics = style.settings(runs, each), series.compared(runs)
    figure, (axes,) = style.panels(1, len(metrics), 4.5 * len(metrics), 4.2)
    left = axes[0]
    for axis, metric in zip(axes, (METRICS[name] for name in metrics)):
        what = metric.name
        found = [setting.over(series.evaluations, what)
                 for setting in settings]
        drawn = any(np.isfinite(one[["median", "mean"]].to_numpy(dtype=float)).any()
                    for one in found)
        widths = style.widths([one["median"].to_numpy(dtype=float) for one in found], 1.6)
        for i, (setting, one, width) in enumerate(zip(settings, found, widths)):
            band(axis, one, setting.look, metric.low, width,
                 min(4, 12 / len(found)) * (i - (len(found) - 1) / 2))
        finish(axis, metric, f"test {metric.title}", drawn)
    left.plot([], [], color="#555555", linewidth=1.6,
              label=style.WORST_TO_BEST.replace("bar", "band"))
    left.plot([], [], color="#555555", linewidth=0, marker="o", markersize=4.5,
              markerfacecolor="white", label="mean model" + (
                  f" (bar: {style.band_over_seeds(settings)})"
                  if style.band_over_seeds(settings) else ""))
    style.legend(figure, [left], len(runs))
    return figure


def band(axis, found, look, log: bool, width: float, aside: float):
    """Draw one setting: band, median, and the mean model as open markers, shifted by `aside`
    points."""
    x = found["epoch"].to_numpy()
    low, median, high, mean = (clean(found[c], log) for c in ("min", "median", "max", "mean"))
    axis.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0)
    axis.plot(x, median, color=look.colour, linestyle=look.dash, label=look.label,
              linewidth=width, marker="." if len(x) < 3 else None)
    some = slice(None, None, max(1, len(x) // 25))
    style.include(axis, x, [mean, found["mean_low"], found["mean_high"]])
    moved = offset_copy(axis.transData, axis.figure, x=aside, units="points")
    bars = style.bars(mean, clean(found["mean_low"], log), clean(found["mean_high"], log))
    axis.errorbar(x[some], mean[some], yerr=bars[:, some], color=look.colour, fmt=look.marker,
                  elinewidth=0.9, markersize=4.5, markerfacecolor="white",
                  transform=moved)


def clean(values, log: bool) -> np.ndarray:
    """Return values as float; values that the axis cannot show are NaN."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values) & ((values > 0) | (not log)), values, np.nan)


def finish(axis, metric: Metric, title: str, drawn: bool):
    """Set title, labels and scale of a panel."""
    axis.set_title(title)
    axis.set_xlabel("epochs")
    if not drawn:
        style.empty_panel(axis, f"no finite {metric.title} recorded")
    else:
        style.metric_axis(axis, metric)
        axis.set_ylabel(metric.title)


def training(runs: list[Run], each: bool = False):
    """Draw minibatch accuracy and loss during training, over all replicas."""
    figure, ((left, right),) = style.panels(1, 2, 9.0, 4.2)
    for axis, what in ((left, "accuracy"), (right, "loss")):
        settings = style.settings(runs, each)
        every = [setting.over(series.training, what) for setting in settings]
        widths = style.widths([found["median"].to_numpy(dtype=float) for found in every], 1.1)
        drawn = False
        for setting, found, width in zip(settings, every, widths):
            look = setting.look
            cleaned = [clean(found[c], what == "loss") for c in ("min", "median", "max")]
            x, low, median, high = thin(found["epoch"], *cleaned,
                                        reduce=(least_of, mean_of, largest_of))
            drawn |= bool(np.isfinite(median).any())
            axis.fill_between(x, low, high, color=look.colour, alpha=0.10, linewidth=0)
            axis.plot(x, median, color=look.colour, linestyle=look.dash, linewidth=width,
                      label=look.label, marker="." if len(x) < 3 else None)
        finish(axis, METRICS[what], f"minibatch {what}, before the update", drawn)
    left.plot([], [], color="#555555", linewidth=1.1,
              label="median over replicas (band: lowest to highest)")
    style.legend(figure, [left], len(runs))
    return figure
