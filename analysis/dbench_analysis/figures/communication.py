"""The cost of communication: neighbours over iterations, and accuracy over bytes."""

import numpy as np

from ..quantities import series
from ..reading.run import Run
from . import style
from .accuracy import clean
from .adaptation import degrees
from .convergence import curve, places
from .thinning import thin

DECADES = 1  # of bytes between settings, above which the axis is logarithmic


def cost(runs: list[Run], each: bool = False):
    """Draw the mean degree over iterations (left) and the mean model's performance over bytes per
    replica (right), with a band from the lowest to the highest seed. The bytes have a logarithmic
    axis if settings send very different amounts, as with compressed messages."""
    figure, ((left, right),) = style.panels(1, 2, 9.0, 4.2)
    kind = "accuracy" if any(series.performance(r)[1] == "accuracy" for r in runs) else "loss"

    def over_bytes(run: Run):
        found, its = series.performance(run)
        mean = clean(found["mean"], kind == "loss") if its == kind else np.full(len(found), np.nan)
        return found[["iteration"]].assign(x=places(run, found, "bytes"), mean=mean)

    settings = style.settings(runs, each)
    spent = [setting.over(over_bytes) for setting in settings]
    ends = style.positive([found["x"].max() for found in spent if len(found)])
    apart = bool(len(ends) and ends.max() > 10**DECADES * ends.min())
    lines = [thin(found["iteration"], found["degree"])
             for found in (setting.over(degrees) for setting in settings)]
    widths = style.widths([degree for _, degree in lines], 1.6)
    for setting, found, (x, degree), width in zip(settings, spent, lines, widths):
        look = setting.look
        left.plot(x, degree, color=look.colour, linestyle=look.dash, label=look.label,
                  linewidth=width, marker="." if len(x) < 3 else None)
        curve(right, setting, found[found["x"] > 0] if apart else found, 1.6)
    left.set(title="neighbours of a replica", xlabel="iteration",
             ylabel="mean out-degree, without self")
    left.set_ylim(bottom=0)
    right.set(title=f"{kind} over what was sent", ylabel=f"{kind} of the mean model",
              xlabel=f"sent per replica (MB{', log scale' * apart})")
    if apart:
        right.set_xscale("log")
    if kind == "accuracy":
        style.percent_axis(right)
    style.legend(figure, [left], len(runs), settings)
    return figure
