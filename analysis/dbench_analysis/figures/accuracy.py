"""Accuracy and loss over epochs: local models as a band with their median, mean model beside it."""

import numpy as np

from .. import series
from ..run import Run
from . import style
from .thin import thin

NAMES = {"accuracy": "test accuracy", "loss": "test loss"}


def evaluated(runs: list[Run]):
    """Evaluations of the test set: accuracy and loss panels."""
    figure, ((left, right),) = style.panels(1, 2, 9.0, 4.2)
    for axis, what in ((left, "accuracy"), (right, "loss")):
        drawn = False
        for run, look in zip(runs, style.looks(runs)):
            found = series.evaluations(run, what)
            drawn |= bool(np.isfinite(found[["median", "mean"]].to_numpy(dtype=float)).any())
            band(axis, found, look, what == "loss")
        finish(axis, what, NAMES[what], drawn)
    left.plot([], [], color="#555555", linewidth=1.6,
              label="median of local models (band: min to max)")
    left.plot([], [], color="#555555", linewidth=0, marker="o", markersize=4.5,
              markerfacecolor="white", label="mean model")
    style.legend(figure, [left], len(runs))
    return figure


def band(axis, found, look, log: bool):
    """One run: band, median, and the mean model as open markers."""
    x = found["epoch"].to_numpy()
    low, median, high, mean = (clean(found[c], log) for c in ("min", "median", "max", "mean"))
    axis.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0)
    axis.plot(x, median, color=look.colour, linestyle=look.dash, label=look.label,
              marker="." if len(x) < 3 else None)
    every = max(1, len(x) // 25)
    axis.plot(x[::every], mean[::every], color=look.colour, linewidth=0, marker=look.marker,
              markersize=4.5, markerfacecolor="white")


def clean(values, log: bool) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values) & ((values > 0) | (not log)), values, np.nan)


def finish(axis, what: str, title: str, drawn: bool):
    axis.set_title(title)
    axis.set_xlabel("epochs")
    if not drawn:
        style.nothing(axis, f"no finite {what} recorded")
    elif what == "accuracy":
        style.percent_axis(axis)
        axis.set_ylabel("accuracy")
    else:
        style.loss_axis(axis)
        axis.set_ylabel("loss")


def training(runs: list[Run]):
    """Minibatch accuracy and loss during training, over all replicas."""
    figure, ((left, right),) = style.panels(1, 2, 9.0, 4.2)
    for axis, what in ((left, "accuracy"), (right, "loss")):
        drawn = False
        for run, look in zip(runs, style.looks(runs)):
            found = series.training(run, what)
            cleaned = [clean(found[c], what == "loss") for c in ("min", "median", "max")]
            x, low, median, high = thin(found["epoch"], *cleaned,
                                        reduce=(np.nanmin, np.nanmean, np.nanmax))
            drawn |= bool(np.isfinite(median).any())
            axis.fill_between(x, low, high, color=look.colour, alpha=0.10, linewidth=0)
            axis.plot(x, median, color=look.colour, linestyle=look.dash, linewidth=1.1,
                      label=look.label, marker="." if len(x) < 3 else None)
        finish(axis, what, f"minibatch {what}, before the update", drawn)
    left.plot([], [], color="#555555", linewidth=1.1,
              label="median over replicas (band: min to max)")
    style.legend(figure, [left], len(runs))
    return figure
