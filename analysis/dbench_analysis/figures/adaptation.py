"""A graph that changes, next to what its controller measures: degree, dispersion, consensus
distance, accuracy."""

import pandas as pd

from ..naming.measures import TITLES, UNITS
from ..quantities import controllers, series
from ..reading.run import Run
from . import style
from .accuracy import clean
from .spread import finish
from .thinning import thin


def figure(runs: list[Run], each: bool = False):
    """Draw four panels over epochs, each setting a line: what a controller sets, measures and
    achieves. The panel of its measure has the band in which the controller changes nothing."""
    drawing, ((degree, dispersion),
              (consensus, accuracy)) = style.panels(2, 2, 9.6, 6.8, sharex=True)
    settings = style.settings(runs, each)
    lines(degree, settings, [setting.over(degrees) for setting in settings], "degree")
    lines(accuracy, settings, [setting.over(mean_model) for setting in settings], "mean")
    watched = controllers.first_watched(runs)
    logarithmic(dispersion, settings, "value", controllers.seen, **watched)
    logarithmic(consensus, settings, "consensus", series.variance)
    for setting in settings:
        own = controllers.watched(setting.runs[0])
        if own == watched:
            band(dispersion, setting)
        elif own.get("measure") == controllers.DISTANCE:
            band(consensus, setting)
    degree.set(title="neighbours of a replica", ylabel="mean out-degree, without self")
    degree.set_ylim(bottom=0)
    measure = watched["measure"]
    tensors = watched["tensors"] if isinstance(watched["tensors"], str) else "chosen tensors"
    dispersion.set(title=TITLES[measure],
                   ylabel=f"{UNITS[measure]},\n{watched['aggregate']} over {tensors}")
    consensus.set(title="consensus distance", ylabel="distance (unit of a parameter)")
    accuracy.set(title="mean model", ylabel="test accuracy")
    if all(series.performance(run)[1] == "accuracy" for run in runs):
        style.percent_axis(accuracy)
    else:
        accuracy.set_ylabel("test accuracy, or loss where there is none")
    for axis in (consensus, accuracy):
        axis.set_xlabel("epochs")
    style.legend(drawing, [degree, dispersion, consensus], len(runs), settings)
    return drawing


def degrees(run: Run) -> pd.DataFrame:
    """Return the mean neighbours over iterations."""
    return pd.DataFrame({key: run.iterations[key][:] for key in ("iteration", "epoch", "degree")})


def mean_model(run: Run) -> pd.DataFrame:
    """Return the accuracy, or loss, of the mean model over iterations."""
    found, kind = series.performance(run)
    return found[["iteration", "epoch"]].assign(mean=clean(found["mean"], kind == "loss"))


def lines(axis, settings: list[style.Setting], found: list[pd.DataFrame], column: str,
          place=lambda y: y):
    """Draw `line` for each setting; lines under other lines remain visible."""
    widths = style.widths([one[column].to_numpy(dtype=float) for one in found], 1.3)
    for setting, one, width in zip(settings, found, widths):
        if len(one):
            line(axis, setting, one, column, width, place)


def line(axis, setting: style.Setting, found: pd.DataFrame, column: str, width: float,
         place):
    """Draw the mean over seeds over epochs, with a band around it."""
    look = setting.look
    x, y, low, high = thin(found["epoch"], *(found[f"{column}{end}"]
                                             for end in ("", "_low", "_high")))
    if len(setting.runs) > 1:
        axis.fill_between(x, place(low), place(high), color=look.colour, alpha=0.15, linewidth=0)
    axis.plot(x, place(y), color=look.colour, linestyle=look.dash, linewidth=width,
              label=look.label, marker=look.marker if len(x) < 30 else None, markersize=3.5)


def logarithmic(axis, settings, column: str, frame, **how):
    """Draw lines on a logarithmic axis with space for exact zeros."""
    found = [setting.over(frame, **how) for setting in settings]
    scale = style.Logarithmic([one[column] for one in found if not one.empty])
    lines(axis, settings, found, column, scale.place)
    finish(axis, scale, any(len(one) for one in found), "not recorded")


def band(axis, setting: style.Setting):
    """Draw the band in which the controller of the setting's first run changes nothing."""
    found = controllers.limits(setting.runs[0])
    if found.empty:
        return
    x, low, high = thin(found["epoch"], found["low"], found["high"])
    axis.fill_between(x, low, high, facecolor="none", edgecolor=setting.look.colour, alpha=0.45,
                      hatch="////", linewidth=0.8, label="between its limits a controller rests")
