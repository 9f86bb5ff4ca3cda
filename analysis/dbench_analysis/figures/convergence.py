"""How fast runs learn: the mean model over iterations, epochs, bytes sent or seconds of steps."""

import numpy as np
import pandas as pd

from ..quantities import series
from ..quantities.comparability import caveats, refuse_times
from ..quantities.progress import X, progress
from ..reading.metrics import METRICS, Metric
from ..reading.run import Run
from . import style
from .accuracy import clean


def places(run: Run, evaluated, x: str) -> np.ndarray:
    """Return the x values of the evaluations; NaN if they are not recorded."""
    if x in ("iterations", "epochs"):
        return evaluated[X[x]].to_numpy(dtype=float)
    return progress(run, evaluated["iteration"].to_numpy(dtype=int), x)


def figure(runs: list[Run], x: str = "iterations", each: bool = False):
    """Draw the metrics that all runs have, of the mean model. Raises AnalysisError for seconds of
    several runs whose times cannot be compared."""
    if x == "seconds":
        notes = ["" if series.virtual(run) else "; ".join(caveats(run)) for run in runs]
        refuse_times(["seconds"], notes, "--x")
    settings, metrics = style.settings(runs, each), series.compared(runs)
    drawing, (axes,) = style.panels(1, len(metrics), 4.5 * len(metrics), 4.2)
    for axis, metric in zip(axes, (METRICS[name] for name in metrics)):
        found = [over(setting, metric, x) for setting in settings]
        widths = style.widths([one["mean"].to_numpy(dtype=float) for one in found], 1.6)
        for setting, one, width in zip(settings, found, widths):
            curve(axis, setting, one, width)
        axis.set(title=f"{metric.title} of the mean model", xlabel=X[x],
                 ylabel=f"test {metric.title}")
        if not any(np.isfinite(one["mean"]).any() for one in found):
            style.empty_panel(axis, f"no finite {metric.title} recorded")
        else:
            style.metric_axis(axis, metric)
    style.legend(drawing, [axes[0]], len(runs), settings)
    return drawing


def over(setting: style.Setting, metric: Metric, x: str) -> pd.DataFrame:
    """Return x and the mean model's performance over the seeds."""
    def evaluated(run: Run):
        found = series.evaluations(run, metric.name)[["iteration", "epoch", "mean"]]
        return found.assign(x=places(run, found, x), mean=clean(found["mean"], metric.low))

    return setting.over(evaluated)


def curve(axis, setting: style.Setting, found: pd.DataFrame, width: float):
    """Draw the mean over seeds, and a band around it."""
    look = setting.look
    if len(setting.runs) > 1:
        axis.fill_between(found["x"], found["mean_low"], found["mean_high"], color=look.colour,
                          alpha=0.15, linewidth=0)
    axis.plot(found["x"], found["mean"], color=look.colour, linestyle=look.dash, label=look.label,
              linewidth=width, marker=look.marker if len(found) < 30 else None, markersize=3.5)
