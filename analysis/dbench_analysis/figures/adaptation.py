"""How a graph that changes goes with what it acts on: degree, dispersion, consensus distance,
accuracy."""

from .. import series
from ..run import Run
from . import style
from .accuracy import clean
from .spread import finish
from .thin import thin


def figure(runs: list[Run]):
    """Four panels over epochs, each run a line: what a controller sets, sees and achieves."""
    drawing, ((degree, dispersion),
              (consensus, accuracy)) = style.panels(2, 2, 9.6, 6.8, sharex=True)
    looks = style.looks(runs)
    for run, look in zip(runs, looks):
        x, y = thin(run.iterations["epoch"][:], run.iterations["degree"][:])
        degree.plot(x, y, color=look.colour, linestyle=look.dash, label=look.label)
        found, kind = series.performance(run)
        accuracy.plot(found["epoch"], clean(found["mean"], kind == "loss"), color=look.colour,
                      linestyle=look.dash,
                      marker=look.marker, markersize=3.5)
    logarithmic(dispersion, [series.dispersion(run, "coefficient_of_variation") for run in runs],
                "median", looks)
    logarithmic(consensus, [series.variance(run) for run in runs], "consensus", looks)
    degree.set(title="neighbours of a replica", ylabel="mean out-degree, without self")
    degree.set_ylim(bottom=0)
    dispersion.set(title="coefficient of variation of the weights' norms",
                   ylabel="deviation / mean, median over weights")
    consensus.set(title="consensus distance", ylabel="distance (unit of a parameter)")
    accuracy.set(title="mean model", ylabel="test accuracy")
    if all(series.performance(run)[1] == "accuracy" for run in runs):
        style.percent_axis(accuracy)
    else:
        accuracy.set_ylabel("test accuracy, or loss where there is none")
    for axis in (consensus, accuracy):
        axis.set_xlabel("epochs")
    style.legend(drawing, [degree], len(runs))
    return drawing


def logarithmic(axis, frames, column: str, looks):
    """One line a run, logarithmic, with room for exact zeros."""
    scale = style.Logarithmic([frame[column] for frame in frames if not frame.empty])
    for frame, look in zip(frames, looks):
        if not frame.empty:
            x, y = thin(frame["epoch"], frame[column])
            axis.plot(x, scale.place(y), color=look.colour, linestyle=look.dash, linewidth=1.2)
    finish(axis, scale, any(len(frame) for frame in frames), "not recorded")
